/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of a profile as "frame;frame;frame", with the suffixes that flame graph tools use for colours, sorted;
 * stacks with equal text are merged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/option.h>
#include <iaprof/plugin.h>

#include "text/text.h"

enum stack_text_pid { STACK_TEXT_PID_AUTO, STACK_TEXT_PID_YES, STACK_TEXT_PID_NO };
enum stack_text_threads { STACK_TEXT_THREADS_NO, STACK_TEXT_THREADS_YES, STACK_TEXT_THREADS_NAME };
enum stack_text_blame { STACK_TEXT_BLAME_WAITER, STACK_TEXT_BLAME_PRODUCER };

/* The user's options. */
struct stack_text_options {
	bool lines;       /* "function:file.c:12", and inlined functions as frames */
	bool inlined;     /* keep inlined functions: a page chooses what it shows */
	bool module;      /* "libc.so.6`function" */
	bool annotate;    /* the suffixes */
	uint64_t pid;     /* enum stack_text_pid: AUTO: stacks with device frames show the pid after the program */
	uint64_t threads; /* enum stack_text_threads: YES: "worker (123)" after the program; NAME: "worker" */
	uint64_t
		blame; /* enum stack_text_blame: PRODUCER: "<- load a.cl:12", the instruction waited for, as its leaf */
	bool spans;    /* stacks of different spans are not merged */
	bool classes;  /* the class of a GPU kernel as the frame above it */
};

/* Row of an option table that sets the choice of threads, a uint64_t MEMBER of the instance struct TYPE. */
#define STACK_TEXT_THREADS_OPTION(TYPE, MEMBER)                                                                        \
	IAPROF_OPTION(TYPE, MEMBER, CHOICE, "threads", "no",                                                           \
		      "Show the thread below the program; yes: name and thread ID, name: threads of one name are "     \
		      "merged",                                                                                        \
		      .choices = stack_text_threads_choices)

/* Rows of an option table that set these options, for a stack_text_options MEMBER of the instance struct TYPE. */
#define STACK_TEXT_OPTIONS(TYPE, MEMBER)                                                                               \
	IAPROF_OPTION(TYPE, MEMBER.lines, BOOL, "lines", "no",                                                         \
		      "Show source lines (function:file.c:12) and inlined functions (DWARF)"),                         \
		IAPROF_OPTION(TYPE, MEMBER.pid, CHOICE, "pid", "auto",                                                 \
			      "Show the process ID after the program name; auto: in stacks with device frames",        \
			      .choices = stack_text_pid_choices),                                                      \
		STACK_TEXT_THREADS_OPTION(TYPE, MEMBER.threads),                                                       \
		IAPROF_OPTION(TYPE, MEMBER.module, BOOL, "module", "no",                                               \
			      "Prefix functions with their file (libc.so.6`malloc)"),                                  \
		IAPROF_OPTION(TYPE, MEMBER.blame, CHOICE, "blame", "waiter",                                           \
			      "producer: show below a waiting device instruction the instruction that it waits for "   \
			      "(<- load tile.cl:31)",                                                                  \
			      .choices = stack_text_blame_choices),                                                    \
		IAPROF_OPTION(                                                                                         \
			TYPE, MEMBER.annotate, BOOL, "annotate", "yes",                                                \
			"Append frame types for flame graph colours: _[k] Linux kernel, _[j] JIT, _[i] inlined, "      \
			"_[G] and _[g] device")
extern const char *const stack_text_pid_choices[];
extern const char *const stack_text_threads_choices[];
extern const char *const stack_text_blame_choices[];

/* Requests the data that the options require from the core. Call it in configure(). */
void stack_text_request(const struct stack_text_options *options, const struct iaprof_host *host);

/* Returns whether a frame is hidden because only another sink requested it. */
bool stack_text_frame_is_hidden(const struct iaprof_frame *frame, const struct stack_text_options *options);

/*
 * Appends the name by which every sink shows a frame: the function, or the file in brackets if it is unknown, or the
 * instruction that is waited for, "<- load a.cl:12". Without suffixes, and lines only for the latter. It is on one line
 * of valid UTF-8.
 */
void frame_name_append(struct text *text, const struct iaprof_frame *frame);
/* Appends the same as a JSON string, for a program with its pid: "model (7)". */
void frame_name_append_json(struct text *text, const struct iaprof_frame *frame);

/* Returns whether a frame is a function; instructions, stall reasons and offsets belong to one. */
static inline bool frame_is_function(const struct iaprof_frame *frame)
{
	return frame->kind < IAPROF_FRAME_DEVICE_INSTRUCTION || frame->kind > IAPROF_FRAME_DEVICE_OFFSET;
}

/*
 * Appends the name by which every sink shows a thread: "worker (123)", or "worker" without the tid. Nothing if neither
 * is known.
 */
void thread_name_append(struct text *text, const struct iaprof_stack_origin *origin);
/* Returns the part of a stack's origin that a sink with this choice distinguishes; without the device. */
struct iaprof_stack_origin thread_of_stack(const struct iaprof_profile *profile, uint32_t stack,
					   uint64_t /* enum stack_text_threads */ choice);

/* Appends the text of one frame, without its pid; it never contains a ';'. */
void stack_text_append_frame(struct text *text, const struct iaprof_frame *frame,
			     const struct stack_text_options *options);

/* The text of a frame, not NUL-terminated. */
struct frame_text {
	size_t offset;       /* into texts */
	uint32_t length;     /* length of the frame */
	uint32_t pid_length; /* length of the ";PID" after it */
	bool hidden;         /* inlined, or a producer, and requested only by another sink */
};

/* One row: the values of all stacks of one value type that have the same text, and span if that is wanted. */
struct stack_row {
	uint32_t value_type; /* index */
	uint32_t stack;      /* index of one of the stacks */
	bool pid;            /* the text has the pid */
	uint64_t value;      /* sum, at most UINT64_MAX */
	uint64_t count;
	uint64_t before, before_count; /* differential profiles: in the earlier run; otherwise 0 */
};

/* The rows of a profile, sorted by value type, by text, bytewise, and by span. */
struct stack_rows {
	const struct iaprof_profile *profile;
	struct frame_text *frames;  /* by frame id */
	struct frame_text *threads; /* by stack: ";" and the thread, length 0 if there is none; NULL: not shown */
	bool spans;
	struct text texts;
	struct stack_row *rows;
	size_t count;
};

/* Makes the rows, which the caller frees in any case. Returns 0 or -ENOMEM. Valid for the lifetime of the profile. */
int stack_rows_make(struct stack_rows *rows, const struct iaprof_profile *profile,
		    const struct stack_text_options *options);
void stack_rows_free(struct stack_rows *rows);

/* Appends the text of a row's stack. */
void stack_rows_append_stack(const struct stack_rows *rows, const struct stack_row *row, struct text *text);
/* Returns the frame id of the innermost visible frame. */
uint32_t stack_rows_leaf(const struct stack_rows *rows, const struct stack_row *row);
/* Appends the text of the frame at a position; nothing if there is no such frame. */
void stack_rows_append_frame(const struct stack_rows *rows, const struct stack_row *row, uint32_t position,
			     struct text *text);
