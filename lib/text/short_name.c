/* SPDX-License-Identifier: Apache-2.0 */
/* See short_name.h. */
#include "text/short_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define DOTS "..."

/* Names whose brackets are nested deeper lose all of that at once. */
#define DEPTH_MAX 8

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

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool continues_word(char byte)
{
	return isalnum((unsigned char)byte) || byte == '_' || byte == '~';
}

/* Returns the length of "native::" at the beginning of a word, which names a namespace or a small class; 0: none. */
static size_t qualifier_length(const char *name, const char *at)
{
	size_t length = 0;
	if (at > name && continues_word(at[-1]))
		return 0;
	while (islower((unsigned char)at[length]) || at[length] == '_' ||
	       (length && isdigit((unsigned char)at[length])))
		length++;
	return length && begins_with(at + length, "::") && (continues_word(at[length + 2]) || at[length + 2] == '(')
		       ? length + 2
		       : 0;
}

/*
 * Appends a name without its result type, the types of its parameters and unnamed namespaces; !has_qualifiers: also
 * without namespaces, and a lambda as the function that contains it.
 */
static void append_plain(struct text *text, const char *name, bool has_qualifiers)
{
	static const char void_type[] = "void ", unnamed[] = "(anonymous namespace)::";
	const char *at = begins_with(name, void_type) ? name + strlen(void_type) : name;
	bool in_parameters = false;
	for (int depth = 0; *at; at++) {
		for (size_t length; (length = begins_with(at, unnamed) ? strlen(unnamed)
					      : has_qualifiers         ? 0
								       : qualifier_length(name, at));)
			at += length;
		if (!has_qualifiers && !depth && begins_with(at, "::{lambda"))
			return;
		int step = step_of(name, at);
		depth = depth + step > 0 ? depth + step : 0;
		in_parameters = in_parameters && depth;
		if (!in_parameters)
			text_append(text, at, *at != '\0');
		if (step > 0 && depth == 1 && *at == '(' && at[1] != ')') {
			in_parameters = true;
			text_append_string(text, DOTS);
		}
		if (!*at)
			return;
	}
}

static bool continues_character(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Appends a name up to the limit, without its middle or, with_end false, its end. */
static void append_cut(struct text *text, const char *name, size_t limit, bool with_end)
{
	size_t length = strlen(name), kept = limit - strlen(DOTS), head = with_end ? kept * 2 / 3 : kept;
	size_t tail = length - (kept - head);
	while (head > 0 && continues_character(name[head]))
		head--;
	while (tail < length && continues_character(name[tail]))
		tail++;
	text_append(text, name, head);
	text_append_string(text, DOTS);
	text_append(text, name + tail, length - tail);
}

static bool ends_with(const struct text *text, const char *end)
{
	size_t length = strlen(end);
	return text->size >= length && !memcmp(text->data + text->size - length, end, length);
}

void text_append_short_name(struct text *text, const char *name, size_t limit)
{
	struct text whole = { 0 }, plain = { 0 }, outer = { 0 };
	text_append_name(&whole, name);
	const char *found = text_string(&whole);
	for (int has_qualifiers = 1; has_qualifiers >= 0 && strlen(found) > limit; has_qualifiers--) {
		plain.size = 0;
		append_plain(&plain, text_string(&whole), has_qualifiers);
		found = plain.size ? text_string(&plain) : found;
	}
	int depth = strlen(found) > limit ? append_outer(&outer, found, 0) : 0;
	depth = depth < DEPTH_MAX ? depth : DEPTH_MAX;
	while (depth-- > 0) {
		outer.size = 0;
		append_outer(&outer, found, depth);
		if (outer.size <= limit)
			break;
	}
	/* The arguments of a template have the room that "name<...>" leaves. */
	bool is_template = !depth && outer.size <= limit &&
			   (ends_with(&outer, "<" DOTS ">") || ends_with(&outer, "<" DOTS ">(" DOTS ")"));
	if (is_template) {
		outer.size = 0;
		append_outer(&outer, found, 1);
	}
	if (outer.size)
		found = text_string(&outer);
	if (strlen(found) > limit)
		append_cut(text, found, limit, !is_template);
	else
		text_append_string(text, found);
	text->failed |= whole.failed || plain.failed || outer.failed;
	text_free(&whole);
	text_free(&plain);
	text_free(&outer);
}
