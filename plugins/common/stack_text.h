/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of a profile as "frame;frame;frame", with the suffixes that flame graph tools colour by, sorted, and added
 * up where the texts are equal.
 */
#ifndef IAPROF_PLUGINS_COMMON_STACK_TEXT_H
#define IAPROF_PLUGINS_COMMON_STACK_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/option.h>
#include <iaprof/plugin.h>

#include "common/text.h"

enum stack_text_pid { STACK_TEXT_PID_AUTO, STACK_TEXT_PID_YES, STACK_TEXT_PID_NO };
enum stack_text_blame { STACK_TEXT_BLAME_WAITER, STACK_TEXT_BLAME_PRODUCER };

/* What a user can choose. */
struct stack_text_options {
	bool lines;    /* "function:file.c:12", and inlined functions as frames */
	bool module;   /* "libc.so.6`function" */
	bool annotate; /* the suffixes */
	uint64_t pid;  /* enum stack_text_pid: AUTO: stacks that reach a device have their pid after the program */
	uint64_t
		blame; /* enum stack_text_blame: PRODUCER: "<- load a.cl:12", what an instruction waits for, under it */
};

/* The rows of an option table that set them, for a stack_text_options MEMBER of the instance struct TYPE. */
#define STACK_TEXT_OPTIONS(TYPE, MEMBER)                                                                               \
	{ .name = "lines",                                                                                             \
	  .type = IAPROF_OPTION_BOOL,                                                                                  \
	  .offset = offsetof(TYPE, MEMBER.lines),                                                                      \
	  .default_value = "no",                                                                                       \
	  .help = "shows source lines (function:file.c:12) and inlined functions, from DWARF" },                       \
		{ .name = "pid",                                                                                       \
		  .type = IAPROF_OPTION_CHOICE,                                                                        \
		  .offset = offsetof(TYPE, MEMBER.pid),                                                                \
		  .default_value = "auto",                                                                             \
		  .choices = stack_text_pid_choices,                                                                   \
		  .help = "puts the process id after the program name; auto: in stacks that reach a device" },         \
		{ .name = "module",                                                                                    \
		  .type = IAPROF_OPTION_BOOL,                                                                          \
		  .offset = offsetof(TYPE, MEMBER.module),                                                             \
		  .default_value = "no",                                                                               \
		  .help = "puts the file that a function is in before its name (libc.so.6`malloc)" },                  \
		{ .name = "blame",                                                                                     \
		  .type = IAPROF_OPTION_CHOICE,                                                                        \
		  .offset = offsetof(TYPE, MEMBER.blame),                                                              \
		  .default_value = "waiter",                                                                           \
		  .choices = stack_text_blame_choices,                                                                 \
		  .help = "producer: puts under a device instruction that waits for another one that one, with its "   \
			  "line (<- load tile.cl:31)" },                                                               \
	{                                                                                                              \
		.name = "annotate", .type = IAPROF_OPTION_BOOL, .offset = offsetof(TYPE, MEMBER.annotate),             \
		.default_value = "yes",                                                                                \
		.help = "marks frames for flame graph colours: _[k] Linux kernel, _[j] JIT, _[i] inlined, _[G] and "   \
			"_[g] "                                                                                        \
			"device"                                                                                       \
	}
extern const char *const stack_text_pid_choices[];
extern const char *const stack_text_blame_choices[];

/* Asks the core for what the options need; in configure(). */
void stack_text_request(const struct stack_text_options *options, const struct iaprof_host *host);

/* Whether a frame is left out: another sink asked for it, and this one did not. */
bool stack_text_frame_is_hidden(const struct iaprof_frame *frame, const struct stack_text_options *options);

/* Appends the text of one frame, without its pid; it never has a ';'. */
void stack_text_append_frame(struct text *text, const struct iaprof_frame *frame,
			     const struct stack_text_options *options);

/* The text of a frame, without NUL. */
struct frame_text {
	size_t offset;       /* into texts */
	uint32_t length;     /* of the frame */
	uint32_t pid_length; /* of ";PID" after it */
	bool hidden;         /* inlined, or a producer, and not asked for: another sink's wish */
};

/* One row: the values of all stacks of one value type that have the same text. */
struct stack_row {
	uint32_t value_type; /* index */
	uint32_t stack;      /* index of one of the stacks */
	bool pid;            /* the text has the pid */
	uint64_t value;      /* sum, at most UINT64_MAX */
	uint64_t count;
	uint64_t before, before_count; /* of a difference: of the earlier run; else 0 */
};

/* The rows of a profile, by value type, and in one by text, bytewise. */
struct stack_rows {
	const struct iaprof_profile *profile;
	struct frame_text *frames; /* by frame id */
	struct text texts;
	struct stack_row *rows;
	size_t count;
};

/* Makes the rows; free them in any case. 0 or -ENOMEM. Valid as long as the profile is. */
int stack_rows_make(struct stack_rows *rows, const struct iaprof_profile *profile,
		    const struct stack_text_options *options);
void stack_rows_free(struct stack_rows *rows);

/* Appends the text of a row's stack. */
void stack_rows_append_stack(const struct stack_rows *rows, const struct stack_row *row, struct text *text);
/* Its innermost frame that is shown. */
uint32_t stack_rows_leaf(const struct stack_rows *rows, const struct stack_row *row);
/* Appends the text of one frame of it; nothing when it has no such frame. */
void stack_rows_append_frame(const struct stack_rows *rows, const struct stack_row *row, uint32_t position,
			     struct text *text);

#endif
