/* SPDX-License-Identifier: Apache-2.0 */
/* Sends a text profile of any format as records, and reports lines that could not be read. */
#pragma once

#include <iaprof/host.h>

#include "folded_text.h"
#include "perf_script.h"
#include "profile_records.h"
#include "stall_stream.h"
#include "text_format.h"
#include "text/text_lines.h"

struct text_replay_options {
	const char *file; /* for messages */
	enum text_format format;
	const char *value_type, *unit; /* for folded text, which contains neither */
};

/* Large: allocate on the heap. Initialise with {0} before text_replay_init(). */
struct text_replay {
	struct text_replay_options options;
	const struct iaprof_host *host;
	struct text_lines lines;
	struct text_taker taker;
	struct profile_records records;
	struct folded_text folded;
	struct perf_script perf_script;
	struct stall_stream stream;
	struct text_refused refused;
};

/* These functions return 0, or a negative errno after host->fail(). */
int text_replay_init(struct text_replay *replay, const struct iaprof_host *host,
		     const struct text_replay_options *options);
int text_replay_feed(struct text_replay *replay, const char *bytes, size_t size);
/* Call after the last bytes; is_whole: the last line is complete even without its line end. */
int text_replay_end(struct text_replay *replay, bool is_whole);
void text_replay_free(struct text_replay *replay);
