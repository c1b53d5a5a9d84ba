/* SPDX-License-Identifier: Apache-2.0 */
/* See screen_line.h. */
#include "screen_line.h"

#include <string.h>

struct line line_begin(struct text *text, const struct screen *screen, unsigned row)
{
	text_append_format(text, "\033[%u;1H", row + 1);
	return (struct line){ .text = text, .screen = screen };
}

void line_append_cut(struct line *line, const char *words, unsigned columns)
{
	unsigned left = line->screen->columns - line->used;
	line->used += columns_append(line->text, &line->screen->charset, words, columns < left ? columns : left);
}

void line_append(struct line *line, const char *words)
{
	line_append_cut(line, words, line->screen->columns);
}

void line_append_right(struct line *line, const char *words, unsigned columns)
{
	unsigned length = (unsigned)strlen(words);
	line_pad(line, line->used + (length < columns ? columns - length : 0));
	line_append_cut(line, words, columns);
}

void line_take(struct line *line, struct text *words)
{
	text_append(words, "", 1);
	if (!words->failed)
		line_append(line, words->data);
	line->text->failed |= words->failed;
	text_free(words);
}

void line_pad(struct line *line, unsigned column)
{
	for (; line->used < column && line->used < line->screen->columns; line->used++)
		text_append(line->text, " ", 1);
}

/* Does not erase after a full line, because some terminals would erase its last column. */
void line_end(struct line *line)
{
	if (line->used < line->screen->columns)
		text_append_string(line->text, "\033[K");
}

void line_append_whole(struct text *text, const struct screen *screen, unsigned row, const char *words)
{
	struct line line = line_begin(text, screen, row);
	line_append(&line, words);
	line_end(&line);
}
