/* SPDX-License-Identifier: Apache-2.0 */
/* See text_lines.h. */
#include "text/text_lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "text/printable.h"

static int pass_line(struct text_lines *lines, const char *text, size_t length, bool is_too_long)
{
	if (length && text[length - 1] == '\r')
		length--;
	struct text_line line = { .text = { text, length }, .number = ++lines->number };
	if (is_too_long)
		line.wrong = "is longer than 1 MiB";
	else if (length && memchr(text, '\0', length))
		line.wrong = "has a byte that is 0";
	return lines->take(lines->context, &line);
}

/* Keeps the part of an incomplete line that fits. */
static int keep_part(struct text_lines *lines, const char *bytes, size_t size)
{
	if (size > TEXT_LINE_MAX - lines->begun.size) {
		size = TEXT_LINE_MAX - lines->begun.size;
		lines->is_too_long = true;
	}
	text_append(&lines->begun, bytes, size);
	return lines->begun.failed ? -ENOMEM : 0;
}

int text_lines_feed(struct text_lines *lines, const char *bytes, size_t size)
{
	const char *end = bytes + size;
	while (bytes < end) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		size_t length = (size_t)((newline ? newline : end) - bytes);
		int result;
		if (!newline || lines->begun.size || lines->is_too_long || length > TEXT_LINE_MAX) {
			result = keep_part(lines, bytes, length);
			if (!result && newline)
				result = text_lines_end(lines);
		} else {
			result = pass_line(lines, bytes, length, false);
		}
		if (result)
			return result;
		bytes += length + (newline ? 1 : 0);
	}
	return 0;
}

int text_lines_end(struct text_lines *lines)
{
	if (!lines->begun.size)
		return 0;
	size_t length = lines->begun.size;
	bool is_too_long = lines->is_too_long;
	lines->begun.size = 0;
	lines->is_too_long = false;
	return pass_line(lines, lines->begun.data, length, is_too_long);
}

void text_lines_free(struct text_lines *lines)
{
	text_free(&lines->begun);
}

void text_refused_add(struct text_refused *refused, const struct text_line *line, const char *why)
{
	if (refused->count++)
		return;
	refused->number = line->number;
	snprintf(refused->why, sizeof refused->why, "%s", why);
	snprintf(refused->text, sizeof refused->text, "%.*s", (int)line->text.length, line->text.text);
	text_make_printable(refused->text);
}
