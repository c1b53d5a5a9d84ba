/* SPDX-License-Identifier: Apache-2.0 */
/* See json_line.h. */
#include "json_line.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "line.h"

/* Longer keys, such as stacks, are cut. */
#define KEY_SIZE 512u

struct reader {
	struct text_span rest;
	void (*take)(void *context, struct text_span line);
	void *context;
};

struct string {
	char text[TRACE_LINE_SIZE_MAX + 1];
	size_t length;
};

static bool take_mark(struct reader *reader, const char *mark)
{
	reader->rest = span_trim(reader->rest);
	return span_take(&reader->rest, mark);
}

static char unescaped(char escape)
{
	switch (escape) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case '"':
	case '\\':
	case '/':
		return escape;
	default: /* a control character, which no name has */
		return '?';
	}
}

/* Parses a string. The rest of a long one is left out. */
static bool take_string(struct reader *reader, struct string *string)
{
	struct text_span *rest = &reader->rest;
	string->length = 0;
	if (!take_mark(reader, "\""))
		return false;
	while (rest->length && *rest->text != '"') {
		size_t used = 1;
		char character = *rest->text;
		if (character == '\\') {
			if (rest->length < 2)
				return false;
			used = rest->text[1] == 'u' ? 6 : 2;
			character = unescaped(rest->text[1]);
		}
		if (used > rest->length)
			return false;
		if (string->length < sizeof string->text - 1)
			string->text[string->length++] = character;
		*rest = span_part(*rest, used, rest->length);
	}
	string->text[string->length] = '\0';
	return span_take(rest, "\"");
}

static bool take_number(struct reader *reader, uint64_t *number)
{
	reader->rest = span_trim(reader->rest);
	return span_take_decimal(&reader->rest, number);
}

__attribute__((format(printf, 2, 3))) static void pass(struct reader *reader, const char *format, ...)
{
	char line[2 * KEY_SIZE + 128];
	va_list arguments;
	va_start(arguments, format);
	int size = vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	if (size > 0 && (size_t)size < sizeof line)
		reader->take(reader->context, (struct text_span){ line, (size_t)size });
}

/* Writes the key of a map, of which a stack is its innermost function. */
static void set_key(char key[KEY_SIZE], const struct string *string)
{
	struct text_span text = { string->text, string->length };
	while (text.length && (is_blank(*text.text) || *text.text == '\n'))
		text = span_part(text, 1, text.length);
	const char *end = text.length ? memchr(text.text, '\n', text.length) : NULL;
	if (end)
		text.length = (size_t)(end - text.text);
	const char *offset = end && text.length ? memrchr(text.text, '+', text.length) : NULL;
	if (offset)
		text.length = (size_t)(offset - text.text);
	snprintf(key, KEY_SIZE, "%.*s", (int)(text.length < KEY_SIZE ? text.length : KEY_SIZE - 1), text.text);
}

/* Parses {"count": 3, "average": 7, "total": 21}, of stats(). */
static bool take_statistics(struct reader *reader, const char *title)
{
	uint64_t numbers[3];
	static const char *const names[] = { "\"count\":", "\"average\":", "\"total\":" };
	for (size_t i = 0; i < 3; i++)
		if ((i && !take_mark(reader, ",")) || !take_mark(reader, names[i]) || !take_number(reader, &numbers[i]))
			return false;
	pass(reader, "%s: count %" PRIu64 ", average %" PRIu64 ", total %" PRIu64, title, numbers[0], numbers[1],
	     numbers[2]);
	return take_mark(reader, "}");
}

/* Parses [{"min": 4, "max": 7, "count": 3}, ...]. */
static bool take_buckets(struct reader *reader, const char *title)
{
	pass(reader, "%s:", title);
	do {
		uint64_t low = 0, high = 0, count;
		bool has_low, has_high;
		if (!take_mark(reader, "{"))
			return false;
		has_low = take_mark(reader, "\"min\":") && take_number(reader, &low) && take_mark(reader, ",");
		has_high = take_mark(reader, "\"max\":") && (take_mark(reader, "-") || true) &&
			   take_number(reader, &high) && take_mark(reader, ",");
		if (!take_mark(reader, "\"count\":") || !take_number(reader, &count) || !take_mark(reader, "}"))
			return false;
		if (!has_low)
			pass(reader, "(..., 0) %" PRIu64 " |@|", count);
		else if (has_high && low == high)
			pass(reader, "[%" PRIu64 "] %" PRIu64 " |@|", low, count);
		else
			pass(reader, "[%" PRIu64 ", %" PRIu64 ") %" PRIu64 " |@|", low, has_high ? high + 1 : 0, count);
	} while (take_mark(reader, ","));
	return take_mark(reader, "]");
}

/* Parses what a map has for one key, or without keys. */
static bool take_value(struct reader *reader, const char *title)
{
	uint64_t number;
	if (take_mark(reader, "["))
		return take_mark(reader, "]") || take_buckets(reader, title);
	if (take_mark(reader, "{"))
		return take_statistics(reader, title);
	if (!take_number(reader, &number))
		return false;
	pass(reader, "%s: %" PRIu64, title, number);
	return true;
}

/* Parses {"@name": VALUE} and {"@name": {"KEY": VALUE, ...}}. */
static bool take_map(struct reader *reader, struct string *string)
{
	char name[KEY_SIZE], key[KEY_SIZE], title[2 * KEY_SIZE + 2];
	if (!take_mark(reader, "{") || !take_string(reader, string) || !take_mark(reader, ":"))
		return false;
	set_key(name, string);
	struct reader keys = *reader;
	/* The statistics of a map without keys look like keys. */
	bool has_keys = take_mark(&keys, "{") && !take_mark(&keys, "\"count\":");
	if (!has_keys)
		return take_value(reader, name) && take_mark(reader, "}");
	*reader = keys;
	if (take_mark(reader, "}"))
		return true;
	do {
		if (!take_string(reader, string) || !take_mark(reader, ":"))
			return false;
		set_key(key, string);
		snprintf(title, sizeof title, "%s[%s]", name, key);
		if (!take_value(reader, title))
			return false;
	} while (take_mark(reader, ","));
	return take_mark(reader, "}") && take_mark(reader, "}");
}

static bool take_text(struct reader *reader, struct string *string)
{
	if (!take_string(reader, string))
		return false;
	struct text_span rest = { string->text, string->length }, line;
	while (span_take_field(&rest, '\n', &line))
		if (line.length)
			reader->take(reader->context, line);
	return true;
}

bool trace_json_is(struct text_span line)
{
	return span_begins(span_trim(line), "{\"type\":");
}

bool trace_json_convert(struct text_span line, void (*take)(void *context, struct text_span line), void *context)
{
	struct reader reader = { .rest = line, .take = take, .context = context };
	struct string string;
	uint64_t number;
	if (!take_mark(&reader, "{") || !take_mark(&reader, "\"type\":") || !take_string(&reader, &string) ||
	    !take_mark(&reader, ",") || !take_mark(&reader, "\"data\":"))
		return false;
	struct text_span type = span_of(string.text);
	if (span_is(type, "map") || span_is(type, "hist") || span_is(type, "stats"))
		return take_map(&reader, &string) && take_mark(&reader, "}");
	if (span_is(type, "printf"))
		return take_text(&reader, &string) && take_mark(&reader, "}");
	if (span_is(type, "attached_probes"))
		pass(&reader, "Attaching probes...");
	else if (span_is(type, "lost_events") && take_mark(&reader, "{") && take_mark(&reader, "\"events\":") &&
		 take_number(&reader, &number))
		pass(&reader, "Lost %" PRIu64 " events", number);
	return true; /* others are no calls */
}
