/* SPDX-License-Identifier: Apache-2.0 */
/* Splits bytes that arrive in pieces into lines of bounded length. */
#pragma once

#include "text/text.h"
#include "text/text_span.h"

/* A line without its line end. */
struct text_line {
	struct text_span text;
	uint64_t number;   /* from 1 */
	const char *wrong; /* why it cannot be parsed (too long, or contains a NUL byte); NULL if it can */
};

/* Fits the deepest stack of folded text, with names of about 700 bytes. */
#define TEXT_LINE_MAX ((size_t)1 << 20)

/* Returns 0, or a negative errno, which ends reading and is passed on. */
typedef int text_line_callback(void *context, const struct text_line *line);

/* Initialise with {0}, the callback and its context. */
struct text_lines {
	text_line_callback *take;
	void *context;
	/* private */
	struct text begun; /* incomplete line */
	bool is_too_long;
	uint64_t number;
};

/* Returns 0, what the callback returned, or -ENOMEM. */
int text_lines_feed(struct text_lines *lines, const char *bytes, size_t size);
/* Call after the last bytes, because the last line may lack its line end. */
int text_lines_end(struct text_lines *lines);
void text_lines_free(struct text_lines *lines);

/* Skipped lines. Initialise with {0}. */
struct text_refused {
	uint64_t count;
	/* The first skipped line: */
	uint64_t number;
	char why[80];
	char text[81]; /* its beginning, printable */
};

void text_refused_add(struct text_refused *refused, const struct text_line *line, const char *why);
