/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the stream of tab-separated lines that sink iaprof, and Intel's program of that name, write of a GPU's stalls:
 * strings with ids, intervals, kernels with the CPU stack that launched them, and the counts of each instruction.
 */
#ifndef IAPROF_PLUGINS_REPLAY_STALL_STREAM_H
#define IAPROF_PLUGINS_REPLAY_STALL_STREAM_H

#include "common/item_index.h"
#include "text_profile.h"

/* What all strings take at most; those beyond are refused. */
#define STALL_STREAM_STRINGS_MAX ((size_t)256 << 20)

struct stall_string {
	uint64_t id;
	char *text; /* with a NUL behind it */
	size_t length;
};

/* Initialise with {0}, the taker and, if known, the interval; free. */
struct stall_stream {
	const struct text_taker *taker;
	uint64_t interval; /* ns that the first interval takes, of which the file has the end only; 0 not known */
	/* its own */
	struct stall_string *strings;
	size_t string_count, string_capacity, string_bytes;
	struct item_index string_index;
	bool has_kernel;
	struct {
		uint64_t program, pid, stack, file, symbol; /* ids of strings, but for the pid */
	} kernel;
	uint64_t begin, time; /* of the interval; 0 not known */
	struct text_frame frames[TEXT_FRAMES_MAX];
	uint32_t prefix_count; /* frames down to the kernel's, in strings' texts; 0: to be made */
	bool is_cut;           /* the CPU's stack is deeper */
};

/* These return 0, what the taker returned, or -ENOMEM. */
int stall_stream_line(struct stall_stream *stream, const struct text_line *line);
int stall_stream_end(struct stall_stream *stream);
void stall_stream_free(struct stall_stream *stream);

/* Whether a line is of this format. */
bool stall_stream_is(struct text_span line);

#endif
