/* SPDX-License-Identifier: Apache-2.0 */
/* See short_name.h. */
#include "text/short_name.h"

#include <stdbool.h>
#include <string.h>

#define DOTS "..."

/* Whether this '<' or '>' belongs to an operator's name or to an arrow instead of being a bracket. */
static bool is_operator(const char *name, const char *at)
{
	static const char word[] = "operator";
	const char *begin = at;
	while (begin > name && (begin[-1] == '<' || begin[-1] == '>' || begin[-1] == '-'))
		begin--;
	if (*at == '>' && at > name && at[-1] == '-')
		return true;
	size_t length = sizeof word - 1;
	/* What follows "operator<<" are brackets. */
	return (size_t)(begin - name) >= length && !memcmp(begin - length, word, length) && at - begin < 2;
}

static int step_of(const char *name, const char *at)
{
	switch (*at) {
	case '(':
	case '{':
		return 1;
	case ')':
	case '}':
		return -1;
	case '<':
		return !is_operator(name, at);
	case '>':
		return -!is_operator(name, at);
	default:
		return 0;
	}
}

/* Appends a name without what is deeper in brackets than depth. Returns the largest depth of the whole name. */
static int append_outer(struct text *text, const char *name, int depth)
{
	int now = 0, largest = 0;
	for (const char *at = name; *at; at++) {
		int step = step_of(name, at);
		int before = now;
		now = now + step > 0 ? now + step : 0;
		largest = now > largest ? now : largest;
		if (before <= depth)
			text_append(text, at, 1);
		if (before <= depth && now > depth && step_of(name, at + 1) >= 0)
			text_append_string(text, DOTS);
		else if (before > depth && now <= depth)
			text_append(text, at, 1);
	}
	return largest;
}

static bool continues_character(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

static void append_ends(struct text *text, const char *name, size_t length, size_t limit)
{
	size_t head = (limit - strlen(DOTS)) * 2 / 3, tail = length - (limit - strlen(DOTS) - head);
	while (head > 0 && continues_character(name[head]))
		head--;
	while (tail < length && continues_character(name[tail]))
		tail++;
	text_append(text, name, head);
	text_append_string(text, DOTS);
	text_append(text, name + tail, length - tail);
}

void text_append_short_name(struct text *text, const char *name, size_t limit)
{
	struct text whole = { 0 }, outer = { 0 };
	text_append_name(&whole, name);
	const char *found = text_string(&whole);
	int depth = whole.size > limit ? append_outer(&outer, found, 0) : 0;
	while (depth-- > 0) {
		outer.size = 0;
		append_outer(&outer, found, depth);
		if (outer.size <= limit)
			break;
	}
	if (outer.size)
		found = text_string(&outer);
	size_t length = strlen(found);
	if (length > limit)
		append_ends(text, found, length, limit);
	else
		text_append(text, found, length);
	text->failed |= whole.failed || outer.failed;
	text_free(&whole);
	text_free(&outer);
}
