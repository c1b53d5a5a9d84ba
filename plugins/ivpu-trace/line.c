/* SPDX-License-Identifier: Apache-2.0 */
/* See line.h. */
#include <stdbool.h>
#include <string.h>

#include "text/text_span.h"
#include "line.h"

#define SECOND 1000000000u

static bool is_name_byte(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '$';
}

/* Parses the digits after a decimal point as ns, ignoring those beyond the ninth. */
static bool fraction_parse(struct text_span *text, uint64_t *nanoseconds)
{
	uint64_t unit = SECOND;
	*nanoseconds = 0;
	bool is_any = text->length && is_digit(*text->text);
	for (; text->length && is_digit(*text->text); text->text++, text->length--) {
		unit /= 10;
		*nanoseconds += unit * (uint64_t)(*text->text - '0');
	}
	return is_any;
}

static bool time_of_day_parse(struct text_span *text, uint64_t hours, struct trace_line *line)
{
	uint64_t minutes, seconds, fraction = 0;
	if (!span_take_decimal(text, &minutes) || !span_take(text, ":") || !span_take_decimal(text, &seconds) ||
	    (span_take(text, ".") && !fraction_parse(text, &fraction)) || hours > 23 || minutes > 59 || seconds > 60)
		return false;
	line->time_kind = TRACE_TIME_OF_DAY;
	line->time = ((hours * 60 + minutes) * 60 + seconds) * SECOND + fraction;
	return true;
}

/* A comma is a decimal point in many locales, but only if more than a group of thousands follows. */
static bool decimal_comma_parse(struct text_span *text)
{
	size_t digits = 1;
	while (digits < text->length && is_digit(text->text[digits]))
		digits++;
	return digits > 4 && (digits == text->length || text->text[digits] != ',') && span_take(text, ",");
}

/* Parses "12:34:56", "12.345678" or "123456789", optionally in brackets, and a space. */
bool trace_line_take_time(struct text_span *text, struct trace_line *line)
{
	bool is_in_brackets = span_take(text, "[");
	uint64_t number, fraction;
	if (!span_take_decimal(text, &number))
		return false;
	if (span_take(text, ":")) {
		if (!time_of_day_parse(text, number, line))
			return false;
	} else if (span_take(text, ".") || decimal_comma_parse(text)) {
		if (!fraction_parse(text, &fraction) || number >= UINT64_MAX / SECOND)
			return false;
		line->time_kind = TRACE_TIME_SECONDS;
		line->time = number * SECOND + fraction;
	} else {
		line->time_kind = TRACE_TIME_NANOSECONDS;
		line->time = number;
	}
	if (is_in_brackets && !span_take(text, "]"))
		return false;
	if (!text->length || !is_blank(*text->text))
		return false;
	*text = span_trim(*text);
	return true;
}

static bool name_set(char *to, struct text_span name)
{
	if (name.length > TRACE_NAME_SIZE_MAX)
		return false;
	for (size_t i = 0; i < name.length; i++)
		if (!is_name_byte(name.text[i]))
			return false;
	memcpy(to, name.text, name.length);
	to[name.length] = '\0';
	return true;
}

bool trace_line_set_name(char to[static TRACE_NAME_SIZE_MAX + 1], struct text_span name)
{
	return name.length && !is_digit(*name.text) && *name.text != '.' && name_set(to, name);
}

bool trace_line_set_pid(struct trace_line *line, struct text_span pid)
{
	uint64_t number;
	if (!span_decimal(pid, &number) || number > TRACE_PID_MAX)
		return false;
	line->pid = (uint32_t)number;
	return true;
}

void trace_line_set_comm(struct trace_line *line, struct text_span comm)
{
	comm = span_trim(comm);
	size_t length = comm.length < TRACE_COMM_SIZE_MAX ? comm.length : TRACE_COMM_SIZE_MAX;
	if (!length || memchr(comm.text, '\0', length))
		return;
	memcpy(line->comm, comm.text, length);
	line->comm[length] = '\0';
}

static bool beginning_parse(struct text_span *text, const char *const *beginnings)
{
	for (; *beginnings; beginnings++)
		if (span_take(text, *beginnings))
			return true;
	return false;
}

static const char *const call_probes[] = { "kprobe:", "k:", "fentry:", "kfunc:", "f:", NULL };
static const char *const return_probes[] = { "kretprobe:", "kr:", "fexit:", "kretfunc:", "fr:", NULL };

/* NAME or MODULE:NAME. */
static struct text_span without_module(struct text_span text)
{
	struct text_span rest = text, module;
	return span_take_field(&rest, ':', &module) && rest.text ? rest : text;
}

bool trace_line_take_probe(struct text_span *text, bool *is_return)
{
	*is_return = beginning_parse(text, return_probes);
	if (!*is_return && !beginning_parse(text, call_probes))
		return false;
	*text = without_module(*text);
	return true;
}

void trace_line_refuse(struct trace_line *line, const char *why)
{
	line->kind = TRACE_LINE_REFUSED;
	line->why = why;
}

static void call_parse(struct text_span text, struct trace_line *line)
{
	bool has_time = text.length && (is_digit(*text.text) || *text.text == '[');
	if (has_time && !trace_line_take_time(&text, line)) {
		trace_line_refuse(line, "unknown time format");
		return;
	}
	bool is_return;
	if (!trace_line_take_probe(&text, &is_return)) {
		trace_line_refuse(line, "neither a call nor a count");
		return;
	}
	if (is_return) {
		line->kind = TRACE_LINE_NOTHING;
		return;
	}
	if (trace_line_set_name(line->name, text))
		line->kind = TRACE_LINE_CALL;
	else
		trace_line_refuse(line, "not a function name");
}

/* Returns the part of a key such as "[kprobe:NAME, program]" that is a probe, or the whole key. */
static struct text_span key_function(struct text_span key)
{
	struct text_span rest = key, part;
	while (span_take_field(&rest, ',', &part)) {
		part = span_trim(part);
		if (beginning_parse(&part, call_probes))
			return without_module(part);
		if (span_begins(part, "ivpu_"))
			return part;
	}
	return key;
}

/* Maps of avg(), max() and similar look like those of count(). */
static bool is_value_map(struct text_span map)
{
	static const char *const names[] = { "avg", "average",  "mean", "min",   "max",   "sum",
					     "ns",  "nsecs",    "us",   "usecs", "ms",    "latency",
					     "lat", "duration", "dur",  "time",  "bytes", "size" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t length = strlen(names[i]);
		if (span_is(map, names[i]) ||
		    (map.length > length && map.text[map.length - length - 1] == '_' && span_ends(map, names[i])))
			return true;
	}
	return false;
}

/* Parses "@map[key]: 12" or "@map: 12"; without a value, it is the title of a histogram. */
static void map_parse(struct text_span text, struct trace_line *line)
{
	size_t length = 0;
	while (length < text.length && is_name_byte(text.text[length]))
		length++;
	struct text_span map = span_part(text, 0, length), function = map, key_of = { text.text, 0 };
	text = span_part(text, length, text.length);
	if (span_take(&text, "[")) {
		/* The last one: a key may contain brackets. */
		const char *end = memrchr(text.text, ']', text.length);
		if (!end) {
			trace_line_refuse(line, "unterminated map key");
			return;
		}
		size_t key_length = (size_t)(end - text.text);
		function = key_function(span_part(text, 0, key_length));
		text = span_part(text, key_length + 1, text.length);
		key_of = map;
	}
	if (!span_take(&text, ":")) {
		trace_line_refuse(line, "neither a call nor a count");
		return;
	}
	text = span_trim(text);
	/* The title of a histogram has no value. */
	if (!text.length)
		return;
	/* stats() prints "count 3, average 7, total 21". */
	bool is_statistics = span_take(&text, "count ");
	if (is_statistics && !span_begins(function, "ivpu_"))
		return;
	if (!span_take_decimal(&text, &line->count) ||
	    (is_statistics ? !span_begins(text, ", average ") : text.length > 0))
		trace_line_refuse(line, "not a count");
	else if (!is_statistics && is_value_map(key_of))
		trace_line_refuse(line, "the map's name is that of a value, not of a count");
	else if (!name_set(line->map, key_of) || !trace_line_set_name(line->name, function))
		trace_line_refuse(line, "not a function name");
	else
		line->kind = TRACE_LINE_COUNT;
}

/* Returns whether a line is part of a histogram: "[4, 8)    12 |@@@     |", "(..., 0)  3 |@@|", "[1]  7 |@@@|". */
static bool is_histogram(struct text_span text)
{
	return text.length > 1 && (*text.text == '[' || *text.text == '(') && text.text[text.length - 1] == '|' &&
	       memchr(text.text, '|', text.length - 1);
}

static bool lost_parse(struct text_span text, struct trace_line *line)
{
	span_take(&text, "WARNING: ");
	return span_take(&text, "Lost ") && span_take_decimal(&text, &line->count) &&
	       (span_take(&text, " events") || span_take(&text, " event")) && !text.length;
}

void trace_line_parse(const char *bytes, size_t size, struct trace_line *line)
{
	*line = (struct trace_line){ .kind = TRACE_LINE_NOTHING };
	if (size > TRACE_LINE_SIZE_MAX) {
		trace_line_refuse(line, "too long");
		return;
	}
	struct text_span text = span_trim((struct text_span){ bytes, size - (size && bytes[size - 1] == '\r') });
	if (!text.length || is_histogram(text))
		return;
	if (span_take(&text, "@"))
		map_parse(text, line);
	else if (span_take(&text, "Attaching ") || span_take(&text, "Attached "))
		line->kind = TRACE_LINE_HEADER;
	else if (lost_parse(text, line))
		line->kind = TRACE_LINE_LOST;
	else
		call_parse(text, line);
	if (line->kind != TRACE_LINE_CALL && line->kind != TRACE_LINE_COUNT)
		line->name[0] = '\0';
}
