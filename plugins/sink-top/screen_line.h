/* SPDX-License-Identifier: Apache-2.0 */
/* Builds one line of the screen, and counts its columns. */
#pragma once

#include "screen.h"

/* SGR */
#define PLAIN "\033[0m"
#define BOLD "\033[1m"
#define REVERSE "\033[7m"
#define UNDERLINE "\033[4m"
#define NO_UNDERLINE "\033[24m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"

struct line {
	struct text *text;
	const struct screen *screen;
	unsigned used; /* columns */
};

struct line line_begin(struct text *text, const struct screen *screen, unsigned row);
/* Append words, made safe for a terminal and cut at its last column, or at a limit. Blanks at their ends are dropped.
 */
void line_append(struct line *line, const char *words);
void line_append_cut(struct line *line, const char *words, unsigned columns);
/* Right-aligned in so many columns. ASCII only. */
void line_append_right(struct line *line, const char *words, unsigned columns);
/* Appends and frees a text without a NUL. */
void line_take(struct line *line, struct text *words);
/* Pads to a column. */
void line_pad(struct line *line, unsigned column);
void line_end(struct line *line);

/* Appends a whole line. */
void line_append_whole(struct text *text, const struct screen *screen, unsigned row, const char *words);
