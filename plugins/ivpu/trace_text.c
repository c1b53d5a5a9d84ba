/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_text.h. */
#include <stdbool.h>
#include <string.h>
#include "trace_text.h"

#define SECOND 1000000000u

struct span {
	const char *at;
	size_t size;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name_byte(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '$';
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct span trimmed(struct span text)
{
	while (text.size && is_space(*text.at))
		text = (struct span){ text.at + 1, text.size - 1 };
	while (text.size && is_space(text.at[text.size - 1]))
		text.size--;
	return text;
}

static bool take(struct span *text, const char *beginning)
{
	size_t size = strlen(beginning);
	if (text->size < size || memcmp(text->at, beginning, size) != 0)
		return false;
	*text = (struct span){ text->at + size, text->size - size };
	return true;
}

/* Decimal digits: false without any, or above 64 bits. */
static bool take_number(struct span *text, uint64_t *number)
{
	size_t digits = 0;
	*number = 0;
	for (; digits < text->size && is_digit(text->at[digits]); digits++)
		if (__builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, (uint64_t)(text->at[digits] - '0'), number))
			return false;
	*text = (struct span){ text->at + digits, text->size - digits };
	return digits > 0;
}

/* Digits after a point as ns; those beyond the ninth say less than a ns. */
static bool take_fraction(struct span *text, uint64_t *nanoseconds)
{
	uint64_t unit = SECOND;
	*nanoseconds = 0;
	bool is_any = text->size && is_digit(*text->at);
	for (; text->size && is_digit(*text->at); text->at++, text->size--) {
		unit /= 10;
		*nanoseconds += unit * (uint64_t)(*text->at - '0');
	}
	return is_any;
}

static bool take_time_of_day(struct span *text, uint64_t hours, struct trace_line *line)
{
	uint64_t minutes, seconds, fraction = 0;
	if (!take_number(text, &minutes) || !take(text, ":") || !take_number(text, &seconds) ||
	    (take(text, ".") && !take_fraction(text, &fraction)) || hours > 23 || minutes > 59 || seconds > 60)
		return false;
	line->time_kind = TRACE_TIME_OF_DAY;
	line->time = ((hours * 60 + minutes) * 60 + seconds) * SECOND + fraction;
	return true;
}

/* "12:34:56", "12.345678", "123456789", each in brackets or not, and a space. */
static bool take_time(struct span *text, struct trace_line *line)
{
	bool is_in_brackets = take(text, "[");
	uint64_t number, fraction;
	if (!take_number(text, &number))
		return false;
	if (take(text, ":")) {
		if (!take_time_of_day(text, number, line))
			return false;
	} else if (take(text, ".")) {
		if (!take_fraction(text, &fraction) || number >= UINT64_MAX / SECOND)
			return false;
		line->time_kind = TRACE_TIME_SECONDS;
		line->time = number * SECOND + fraction;
	} else {
		line->time_kind = TRACE_TIME_NANOSECONDS;
		line->time = number;
	}
	if (is_in_brackets && !take(text, "]"))
		return false;
	if (!text->size || !is_space(*text->at))
		return false;
	*text = trimmed(*text);
	return true;
}

static bool set_name(char *to, struct span name)
{
	if (name.size > TRACE_NAME_SIZE_MAX)
		return false;
	for (size_t i = 0; i < name.size; i++)
		if (!is_name_byte(name.at[i]))
			return false;
	memcpy(to, name.at, name.size);
	to[name.size] = '\0';
	return true;
}

static bool set_function(struct trace_line *line, struct span name)
{
	return name.size && !is_digit(*name.at) && *name.at != '.' && set_name(line->name, name);
}

static bool take_one_of(struct span *text, const char *const *beginnings)
{
	for (; *beginnings; beginnings++)
		if (take(text, *beginnings))
			return true;
	return false;
}

static const char *const call_probes[] = { "kprobe:", "k:", "fentry:", "kfunc:", "f:", NULL };
static const char *const return_probes[] = { "kretprobe:", "kr:", "fexit:", "kretfunc:", "fr:", NULL };

/* NAME or MODULE:NAME. */
static struct span without_module(struct span text)
{
	const char *colon = memchr(text.at, ':', text.size);
	if (!colon)
		return text;
	size_t module = (size_t)(colon - text.at) + 1;
	return (struct span){ text.at + module, text.size - module };
}

static void refuse(struct trace_line *line, const char *why)
{
	line->kind = TRACE_LINE_REFUSED;
	line->why = why;
}

static void parse_call(struct span text, struct trace_line *line)
{
	bool has_time = text.size && (is_digit(*text.at) || *text.at == '[');
	if (has_time && !take_time(&text, line)) {
		refuse(line, "not a time that is known");
		return;
	}
	if (take_one_of(&text, return_probes)) {
		line->kind = TRACE_LINE_NOTHING;
		return;
	}
	if (!take_one_of(&text, call_probes)) {
		refuse(line, "neither a call nor a count");
		return;
	}
	if (set_function(line, without_module(text)))
		line->kind = TRACE_LINE_CALL;
	else
		refuse(line, "not the name of a function");
}

/* A key of several parts, such as "[kprobe:NAME, program]": the part that is a probe, else the whole. */
static struct span key_function(struct span key)
{
	for (struct span rest = key; rest.size;) {
		const char *comma = memchr(rest.at, ',', rest.size);
		size_t size = comma ? (size_t)(comma - rest.at) : rest.size;
		struct span part = trimmed((struct span){ rest.at, size });
		if (take_one_of(&part, call_probes))
			return without_module(part);
		size += comma ? 1 : 0;
		rest = (struct span){ rest.at + size, rest.size - size };
	}
	return key;
}

/* "@map[key]: 12", "@map: 12"; without a value, the title of a histogram. */
static void parse_map(struct span text, struct trace_line *line)
{
	struct span map = { text.at, 0 }, function, key_of;
	while (map.size < text.size && is_name_byte(text.at[map.size]))
		map.size++;
	text = (struct span){ text.at + map.size, text.size - map.size };
	function = map;
	key_of = (struct span){ text.at, 0 };
	if (take(&text, "[")) {
		/* The last one: a key may have brackets of its own. */
		const char *end = memrchr(text.at, ']', text.size);
		if (!end) {
			refuse(line, "a map's key without an end");
			return;
		}
		function = key_function((struct span){ text.at, (size_t)(end - text.at) });
		text = (struct span){ end + 1, text.size - (size_t)(end + 1 - text.at) };
		key_of = map;
	}
	if (!take(&text, ":")) {
		refuse(line, "neither a call nor a count");
		return;
	}
	text = trimmed(text);
	/* A histogram's title has no value; stats() gives "count 3, average 7, total 21". */
	if (!text.size || take(&text, "count "))
		return;
	if (!take_number(&text, &line->count) || text.size)
		refuse(line, "not a count");
	else if (!set_name(line->map, key_of) || !set_function(line, function))
		refuse(line, "not the name of a function");
	else
		line->kind = TRACE_LINE_COUNT;
}

/* "[4, 8)    12 |@@@     |", "(..., 0)  3 |@@|", "[1]  7 |@@@|" */
static bool is_histogram(struct span text)
{
	return text.size > 1 && (*text.at == '[' || *text.at == '(') && text.at[text.size - 1] == '|' &&
	       memchr(text.at, '|', text.size - 1);
}

static bool is_all_lost(struct span text, struct trace_line *line)
{
	return take(&text, "Lost ") && take_number(&text, &line->count) &&
	       (take(&text, " events") || take(&text, " event")) && !text.size;
}

void trace_line_parse(const char *bytes, size_t size, struct trace_line *line)
{
	*line = (struct trace_line){ .kind = TRACE_LINE_NOTHING };
	if (size > TRACE_LINE_SIZE_MAX) {
		refuse(line, "too long");
		return;
	}
	struct span text = trimmed((struct span){ bytes, size });
	if (!text.size || is_histogram(text))
		return;
	if (take(&text, "@"))
		parse_map(text, line);
	else if (take(&text, "Attaching ") || take(&text, "Attached "))
		line->kind = TRACE_LINE_HEADER;
	else if (is_all_lost(text, line))
		line->kind = TRACE_LINE_LOST;
	else
		parse_call(text, line);
	if (line->kind != TRACE_LINE_CALL && line->kind != TRACE_LINE_COUNT)
		line->name[0] = '\0';
}
