/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reader of the tab-separated lines that sink iaprof, and Intel's program of that name, write for GPU stalls: strings
 * with ids, intervals, kernels with the CPU stack that launched them, and the counts of each instruction.
 */
#pragma once

#include "base/array.h"
#include "base/item_index.h"
#include "text_profile.h"

/* Limit on all strings, in bytes; further strings are rejected. */
#define STALL_STREAM_STRINGS_MAX ((size_t)256 << 20)

struct stall_string {
	uint64_t id;
	char *text; /* NUL-terminated */
	size_t length;
};

/* Initialise with {0}, the taker and, if known, the interval; free after use. */
struct stall_stream {
	const struct text_taker *taker;
	uint64_t interval; /* ns: length of the first interval, of which the file has only the end; 0: unknown */
	/* Private members. */
	ARRAY(struct stall_string) strings;
	size_t string_bytes;
	struct item_index string_index;
	bool has_kernel;
	struct {
		uint64_t program, pid, stack, file, symbol; /* string ids, except pid */
	} kernel;
	uint64_t begin, time; /* time range of the interval; 0: unknown */
	struct text_frame frames[TEXT_FRAMES_MAX];
	uint32_t prefix_count; /* frames up to the kernel's, in texts of strings; 0: not built yet */
	bool is_cut;           /* the CPU stack is deeper */
};

/* These functions return 0, what the taker returned, or -ENOMEM. */
int stall_stream_line(struct stall_stream *stream, const struct text_line *line);
int stall_stream_end(struct stall_stream *stream);
void stall_stream_free(struct stall_stream *stream);

/* Returns true if a line has this format. */
bool stall_stream_is(struct text_span line);
