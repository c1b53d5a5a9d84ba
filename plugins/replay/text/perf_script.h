/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reader of perf script's output: a header line, one line per frame, innermost first, and an empty line; without
 * stacks, one line per sample. Each event is a value type: clocks in nanoseconds, others in events, or in samples if
 * the file has no periods.
 */
#pragma once

#include "text/text.h"
#include "perf_header.h"
#include "text_profile.h"

/* Limit on the names of one stack; frames beyond it are omitted. */
#define PERF_STACK_TEXT_MAX ((size_t)4 << 20)

/* Position of a text in the sample's texts. */
struct perf_text {
	size_t offset, length;
};

struct perf_script_frame {
	struct perf_text name, module, file;
	uint32_t line, kind, flags;
};

/* Initialise with {0} and the taker; free after use. */
struct perf_script {
	const struct text_taker *taker;
	/* Members of the sample whose lines are being read. */
	bool is_begun;
	struct perf_header header; /* after its last line, only the members below are valid */
	struct perf_text comm, event;
	struct text_line first; /* its first line; comm points into its text */
	struct text texts;
	struct perf_script_frame stack[TEXT_FRAMES_MAX]; /* innermost first */
	uint32_t count;
	bool is_cut;
	uint64_t time; /* time of the latest sample */
	struct text_frame frames[TEXT_FRAMES_MAX];
};

/* These functions return 0, what the taker returned, or -ENOMEM. */
int perf_script_line(struct perf_script *script, const struct text_line *line);
int perf_script_end(struct perf_script *script);
void perf_script_free(struct perf_script *script);

/* Returns true if a non-empty line may have this format; after: the next line. */
bool perf_script_is(struct text_span line, struct text_span after);

/*
 * Returns true if a non-empty line has this format: a frame, its source line below a line of this format, a header with
 * a time, thread, tracepoint or nothing but program and event, or any other header above a frame. Unlike
 * perf_script_is(), rejects most lines of source code, such as "else:".
 */
bool perf_script_has_form(struct text_span line, struct text_span after, bool is_below_form);
