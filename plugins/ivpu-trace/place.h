/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines where a call of a text trace belongs in the call tree. Depths of function_graph and callers of the
 * function tracer are used where they are known. Otherwise a call is placed below the most recently entered function of
 * its task that may call it according to the driver's source. Boot functions are below "[boot]", and others without a
 * caller are below "[order not known]". Owned by one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/keyed_array.h"
#include "npu/call_graph.h"
#include "npu/call_records.h"
#include "npu/driver_functions.h"
#include "line.h"

/* The driver's deepest stack has about ten functions. */
#define TRACE_DEPTH_MAX 32u
/* Tasks beyond these share one. */
#define TRACE_TASKS_MAX 1024u

struct trace_function {
	const char *name;                         /* borrowed */
	char short_name[TRACE_NAME_SIZE_MAX + 1]; /* in the form of call_graph.h */
	const struct ivpu_function *known;
	const char *callers;            /* NULL if unknown */
	const struct call_entry *entry; /* NULL if none */
	uint32_t id;                    /* in the records */
	uint64_t count;
	uint64_t map_last, map_count; /* from the map */
};

struct trace_frame {
	const struct trace_function *function;
	uint32_t node;
	uint32_t depth; /* in function_graph */
	uint32_t pid;   /* 0: interrupt, or not known */
	uint64_t time;
	struct ivpu_place place;
	bool in_boot;
	bool is_over;        /* it has ended, although the trace does not show it */
	bool is_outermost;   /* has no caller in the driver */
	bool is_unordered;   /* below "[order not known]" */
	uint64_t child_time; /* ns, of calls that it made, in function_graph */
};

struct trace_lane {
	struct trace_frame frames[TRACE_DEPTH_MAX];
	uint32_t depth;
	uint64_t used; /* number of the most recent call in it */
};

/* A process, thread or CPU whose calls nest; key 0: all calls of a trace without them. */
struct trace_task {
	uint32_t key;
	struct trace_lane lanes[CALL_LANE_COUNT];
};

/* Initialise with {0} and records. */
struct trace_places {
	struct call_records *records; /* borrowed */
	KEYED_ARRAY(struct trace_task) tasks;
	uint64_t calls; /* placed so far */
	bool saw_interrupt;
};

void trace_places_free(struct trace_places *places);

/* Places a call. The frame is valid until the next call. Returns NULL when out of memory. */
struct trace_frame *trace_place(struct trace_places *places, const struct trace_line *line,
				const struct trace_function *function, uint64_t time);

/*
 * Ends the call that a line of kind RETURN belongs to. Returns it, or NULL if its entry is not in the trace. *self is
 * its time without that of its calls.
 */
const struct trace_frame *trace_place_end(struct trace_places *places, const struct trace_line *line, uint64_t *self);
