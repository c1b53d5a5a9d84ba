/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that come in pieces, as lines of bounded length. */
#ifndef IAPROF_PLUGINS_REPLAY_TEXT_LINES_H
#define IAPROF_PLUGINS_REPLAY_TEXT_LINES_H

#include "text_profile.h"

/* The deepest stack of folded text, with names of some 700 bytes each. */
#define TEXT_LINE_MAX ((size_t)1 << 20)

/* 0, or a negative errno, which ends reading and is handed on. */
typedef int text_line_callback(void *context, const struct text_line *line);

/* Initialise with {0}, the callback and its context. */
struct text_lines {
	text_line_callback *take;
	void *context;
	/* its own */
	char *begun; /* a line whose end has not come yet */
	size_t size, capacity;
	bool is_too_long;
	uint64_t number;
};

/* 0, what the callback returned, or -ENOMEM. */
int text_lines_feed(struct text_lines *lines, const char *bytes, size_t size);
/* After the last bytes: the last line may lack its end. */
int text_lines_end(struct text_lines *lines);
void text_lines_free(struct text_lines *lines);

#endif
