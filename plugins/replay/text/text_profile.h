/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the readers of text profiles find in them, handed to a taker as they go. Readers are pure: they take one line
 * after the other, know nothing of files or records, and keep no more than what one sample, or the format, needs.
 */
#ifndef IAPROF_PLUGINS_REPLAY_TEXT_PROFILE_H
#define IAPROF_PLUGINS_REPLAY_TEXT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>

/* Text without a NUL in or behind it, borrowed for the time of the call that hands it over. */
struct text_span {
	const char *text; /* may be NULL when length is 0 */
	size_t length;
};

/* One line of a file, without its end. */
struct text_line {
	struct text_span text;
	uint64_t number;   /* from 1 */
	const char *wrong; /* why it cannot be read: too long, or bytes that no text has; NULL: it can */
};

/* What of a deeper stack is beyond this is left out. */
#define TEXT_FRAMES_MAX IAPROF_PROFILE_STACK_COUNT_MAX

struct text_frame {
	struct text_span name, module, file;
	uint32_t line;
	uint32_t kind;   /* enum iaprof_frame_kind */
	uint32_t flags;  /* enum iaprof_frame_flag */
	uint32_t pid;    /* IAPROF_FRAME_PROCESS: 0 not known */
	uint64_t offset; /* IAPROF_FRAME_DEVICE_OFFSET */
};

struct text_sample {
	const struct text_frame *frames; /* the root first */
	uint32_t frame_count;            /* 1 to TEXT_FRAMES_MAX */
	bool is_cut;                     /* the stack was deeper */
	struct text_span value_type;     /* empty: the file does not say */
	const char *unit;                /* NULL: the file does not say */
	uint64_t value;
	uint64_t count; /* samples that it comes from; 0: the file does not say */
	uint64_t time;  /* ns, 0 not known: when it was taken, or the last of what it adds up */
	uint64_t begin; /* when the first was; <= time */
};

/* Amounts that the file says are missing. */
struct text_lost {
	struct text_span source, reason;
	uint64_t count;              /* IAPROF_COUNT_UNKNOWN: the file does not say */
	uint64_t value;              /* in the value type of such a file's samples, 0 none */
	struct text_span value_type; /* empty: the file does not say */
	uint64_t time;
};

/* Members return 0, or a negative errno, which ends reading and is handed on. Each may be NULL. */
struct text_taker {
	int (*sample)(void *context, const struct text_sample *sample);
	int (*lost)(void *context, const struct text_lost *lost);
	int (*number)(void *context, struct text_span name, int64_t value, uint64_t time);
	/* Everything up to this time has been handed over. Never goes back. */
	int (*time)(void *context, uint64_t time);
	/* A line that cannot be read, and why. */
	void (*refuse)(void *context, const struct text_line *line, const char *why);
	void *context;
};

#endif
