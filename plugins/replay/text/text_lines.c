/* SPDX-License-Identifier: Apache-2.0 */
/* See text_lines.h. */
#include "text_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int give(struct text_lines *lines, const char *text, size_t length, bool is_too_long)
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

/* Keeps what fits of a line that has no end yet. */
static int keep(struct text_lines *lines, const char *bytes, size_t size)
{
	if (size > TEXT_LINE_MAX - lines->size) {
		size = TEXT_LINE_MAX - lines->size;
		lines->is_too_long = true;
	}
	if (lines->size + size > lines->capacity) {
		size_t capacity = lines->capacity ? lines->capacity : 4096;
		while (capacity < lines->size + size)
			capacity *= 2;
		char *larger = realloc(lines->begun, capacity);
		if (!larger)
			return -ENOMEM;
		lines->begun = larger;
		lines->capacity = capacity;
	}
	if (size)
		memcpy(lines->begun + lines->size, bytes, size);
	lines->size += size;
	return 0;
}

int text_lines_feed(struct text_lines *lines, const char *bytes, size_t size)
{
	const char *end = bytes + size;
	while (bytes < end) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		size_t length = (size_t)((newline ? newline : end) - bytes);
		int result;
		if (!newline || lines->size || lines->is_too_long || length > TEXT_LINE_MAX) {
			result = keep(lines, bytes, length);
			if (!result && newline)
				result = text_lines_end(lines);
		} else {
			result = give(lines, bytes, length, false);
		}
		if (result)
			return result;
		bytes += length + (newline ? 1 : 0);
	}
	return 0;
}

int text_lines_end(struct text_lines *lines)
{
	if (!lines->size)
		return 0;
	size_t length = lines->size;
	bool is_too_long = lines->is_too_long;
	lines->size = 0;
	lines->is_too_long = false;
	return give(lines, lines->begun, length, is_too_long);
}

void text_lines_free(struct text_lines *lines)
{
	free(lines->begun);
	lines->begun = NULL;
	lines->size = lines->capacity = 0;
}
