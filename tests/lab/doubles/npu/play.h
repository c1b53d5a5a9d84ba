/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a scenario is played: every function of the double asks for what it calls, and calls it itself, so that the
 * kernel's stack has the real driver's frames and nothing between them.
 */
#pragma once

#include "device.h"

enum double_function_id {
#define PLAIN(name, generations) FUNCTION_##name,
#define WRITTEN(name, generations) FUNCTION_##name,
#define CALLED(name, generations) FUNCTION_##name,
#define DOTTED(name, symbol, generations) FUNCTION_##name,
#include "functions.h"
#undef PLAIN
#undef WRITTEN
#undef CALLED
#undef DOTTED
	DOUBLE_FUNCTIONS
};

#define IN_6_12 1
#define IN_6_13 2
#define IN_7_2 4
#define IN_OTHERS 8 /* releases that no scenario can name */
#define IN_ALL (IN_6_12 | IN_6_13 | IN_7_2)

#define DOUBLE_ARGUMENTS 5 /* after the device */
typedef int double_call(struct ivpu_device *vdev, u64, u64, u64, u64, u64);

struct double_function {
	const char *name;
	double_call *call;
	int generations;
	bool by_kernel;
};

extern const struct double_function double_functions[DOUBLE_FUNCTIONS];

enum double_trigger {
	/* 0 to 14: the ioctl of that number */
	TRIGGER_OPEN = DOUBLE_IOCTL_NUMBERS,
	TRIGGER_CLOSE,
	TRIGGER_FREE,
	TRIGGER_RESUME,
	TRIGGER_SUSPEND,
	DOUBLE_TRIGGERS,
	TRIGGER_EVENT = DOUBLE_TRIGGERS, /* not looked up here: the event has the tree */
};

enum double_kind {
	NODE_CALL,
	NODE_REPEAT,
	NODE_BUSY,
	NODE_SLEEP,
	NODE_PLAY,
	NODE_START,
	NODE_POWER,
	NODE_JOB_SUBMIT,
	NODE_JOB_DONE,
	NODE_JOB_ABORT,
	NODE_PM,
	NODE_IPC_SEND,
	NODE_IPC_RECEIVE,
};

#define DOUBLE_NONE U32_MAX
#define DOUBLE_DEPTH 24       /* of calls; a frame on the kernel's stack each */
#define DOUBLE_REPEAT_DEPTH 3 /* repeats within one function */

struct double_node {
	u8 kind;
	u8 deep; /* of repeats */
	u16 function;
	u32 line;
	u32 times;
	u32 child, next;
	u32 event;
	const char *text;
	u64 duration_ns;
	u64 every_ns;
	u64 arguments[DOUBLE_ARGUMENTS];
};

struct double_tree {
	u32 root;
	u32 times;
	int trigger;
};

struct double_event {
	char name[32];
	bool is_interrupt, is_timer;
	u32 hard, thread, work; /* roots; of a timer `hard` */
};

struct double_scenario {
	struct kref ref;
	struct double_node *nodes;
	u32 node_count;
	struct double_tree *trees;
	u32 tree_count;
	struct double_event *events;
	u32 event_count;
	int generations; /* whose functions it may name */
	struct {         /* where each trigger is: under scenario_lock */
		u32 tree, done;
	} cursors[DOUBLE_TRIGGERS];
	u64 parameters[16]; /* values of GET_PARAM */
	u64 firmware_api[16];
	u64 autosuspend_ms;
	u64 frequency_mhz, minimum_frequency_mhz, maximum_frequency_mhz, efficient_frequency_mhz;
	bool hardware_scheduler;
};

struct double_player {
	struct double_player *previous;
	struct double_player **slot;
	struct task_struct **task; /* of the slot, which this player gives back; NULL: it does not */
	struct ivpu_device *vdev;
	struct double_scenario *scenario;
	const struct double_node *expected; /* about to be called */
	struct ivpu_job *job;
	int job_result;
	int trigger;
	int powered;
};

struct double_frame {
	struct ivpu_device *vdev;
	struct double_player *player;
	const struct double_node *node;
	u64 arguments[DOUBLE_ARGUMENTS];
	u64 started;
	u32 child, left;
	u32 repeat[DOUBLE_REPEAT_DEPTH], repeat_left[DOUBLE_REPEAT_DEPTH];
	int function; /* -1: the double itself */
	u8 repeats;
	bool nested;
};

struct double_occurrence {
	struct list_head link;
	struct kref ref;
	struct double_scenario *scenario;
	const struct double_event *event;
	struct completion done;
};

/* play.c */
void double_play_root(struct ivpu_device *vdev, struct double_scenario *scenario, u32 root);
bool double_enter(struct double_frame *frame, int function, struct ivpu_device *vdev);
double_call *double_next(struct double_frame *frame);
void double_leave(struct double_frame *frame);
void double_begin(struct double_player *player, struct double_frame *frame, int function, struct ivpu_device *vdev);
void double_choose(struct double_frame *frame, int trigger);
void double_choose_event(struct double_frame *frame, struct double_occurrence *occurrence, u32 root);
void double_end(struct double_player *player, struct double_frame *frame);

/* scenario.c, parse.c */
struct double_scenario *double_scenario_get(struct ivpu_device *vdev);
void double_scenario_put(struct double_scenario *scenario);
struct double_scenario *double_scenario_parse(struct ivpu_device *vdev, char *text, char *error, size_t error_size);
struct double_scenario *double_scenario_empty(void);
int double_scenario_files(struct ivpu_device *vdev);

/* event.c */
int double_event_play(struct double_player *player, const struct double_node *node);
void double_event_start(struct double_player *player, const struct double_node *node);
void double_event_finish(struct ivpu_device *vdev, struct double_occurrence *occurrence);
void double_event_queue_work(struct ivpu_device *vdev, struct double_occurrence *occurrence);
struct double_occurrence *double_event_next_interrupt(struct ivpu_device *vdev);
struct double_occurrence *double_event_next_work(struct double_work *work);
void double_event_done_interrupt(struct ivpu_device *vdev);
bool double_event_busy(struct ivpu_device *vdev);
void double_events_init(struct ivpu_device *vdev);
void double_events_stop(struct ivpu_device *vdev);
int double_work_of(int function);

/* truth.c */
void double_truth_add(struct ivpu_device *vdev, int function, u64 ns);

/* The calls that the scenario has below the frame's function; a macro, so that they are that function's own. */
#define DOUBLE_CALLS(frame)                                                                                            \
	do {                                                                                                           \
		double_call *call_;                                                                                    \
		while ((call_ = double_next(frame)))                                                                   \
			call_((frame)->vdev, (frame)->arguments[0], (frame)->arguments[1], (frame)->arguments[2],      \
			      (frame)->arguments[3], (frame)->arguments[4]);                                           \
	} while (0)

/* The whole body of a function that the scenario calls. */
#define DOUBLE_BODY(function, vdev)                                                                                    \
	do {                                                                                                           \
		struct double_frame frame_;                                                                            \
		if (double_enter(&frame_, function, vdev))                                                             \
			DOUBLE_CALLS(&frame_);                                                                         \
		double_leave(&frame_);                                                                                 \
	} while (0)
