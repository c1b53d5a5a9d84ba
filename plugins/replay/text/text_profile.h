/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents of text profiles, which readers pass to a taker while they parse. Readers are pure: they parse line by line,
 * know nothing of files or records, and keep only the data required by the current sample or the format.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "text/text_lines.h"

/* Limit on frames; deeper stacks are truncated. */
#define TEXT_FRAMES_MAX IAPROF_PROFILE_STACK_COUNT_MAX

struct text_frame {
	struct text_span name, module, file;
	uint32_t line;
	uint32_t kind;   /* enum iaprof_frame_kind */
	uint32_t flags;  /* enum iaprof_frame_flag */
	uint32_t pid;    /* for IAPROF_FRAME_PROCESS; 0: unknown */
	uint64_t offset; /* IAPROF_FRAME_DEVICE_OFFSET */
};

struct text_sample {
	const struct text_frame *frames; /* root first */
	uint32_t frame_count;            /* 1 to TEXT_FRAMES_MAX */
	bool is_cut;                     /* the stack was deeper */
	struct text_span value_type;     /* empty: not in the file */
	const char *unit;                /* NULL: not in the file */
	uint64_t value;
	uint64_t count; /* number of samples; 0: not in the file */
	uint64_t time;  /* ns, 0: unknown; time of the sample, or of the last of several */
	uint64_t begin; /* time of the first one; <= time */
};

/* Losses stated in the file. */
struct text_lost {
	struct text_span source, reason;
	uint64_t count;              /* IAPROF_COUNT_UNKNOWN: not in the file */
	uint64_t value;              /* in the value type of the file's samples; 0: none */
	struct text_span value_type; /* empty: not in the file */
	uint64_t time;
};

/* Functions return 0, or a negative errno, which ends reading and is passed on. Each may be NULL. */
struct text_taker {
	int (*sample)(void *context, const struct text_sample *sample);
	int (*lost)(void *context, const struct text_lost *lost);
	int (*number)(void *context, struct text_span name, int64_t value, uint64_t time);
	/* All data up to this time has been passed on. Times never decrease. */
	int (*time)(void *context, uint64_t time);
	/* A line that cannot be parsed, with the reason. */
	void (*refuse)(void *context, const struct text_line *line, const char *why);
	void *context;
};
