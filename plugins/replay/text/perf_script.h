/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what perf script prints: a line that tells of the sample, then a line for each frame, the innermost first, then
 * an empty one; or all of it in one line, where there are no stacks. Each event is a value type: clocks in nanoseconds,
 * others in what they count, or in samples where the file has no periods.
 */
#ifndef IAPROF_PLUGINS_REPLAY_PERF_SCRIPT_H
#define IAPROF_PLUGINS_REPLAY_PERF_SCRIPT_H

#include "common/text.h"
#include "perf_header.h"
#include "text_profile.h"

/* What the names of one stack take at most; frames beyond it are left out. */
#define PERF_STACK_TEXT_MAX ((size_t)4 << 20)

/* Where a text is in the sample's. */
struct perf_text {
	size_t offset, length;
};

struct perf_script_frame {
	struct perf_text name, module, file;
	uint32_t line, kind, flags;
};

/* Initialise with {0} and the taker; free. */
struct perf_script {
	const struct text_taker *taker;
	/* its own: the sample whose lines come */
	bool is_begun;
	struct perf_header header; /* its texts are not valid any more, but those below */
	struct perf_text comm, event;
	struct text_line first; /* its first line, whose text is comm */
	struct text texts;
	struct perf_script_frame stack[TEXT_FRAMES_MAX]; /* the innermost first */
	uint32_t count;
	bool is_cut;
	uint64_t time; /* of the latest sample */
	struct text_frame frames[TEXT_FRAMES_MAX];
};

/* These return 0, what the taker returned, or -ENOMEM. */
int perf_script_line(struct perf_script *script, const struct text_line *line);
int perf_script_end(struct perf_script *script);
void perf_script_free(struct perf_script *script);

/* Whether a line that is not empty is of this format, as far as can be told; after: the line after it. */
bool perf_script_is(struct text_span line, struct text_span after);

#endif
