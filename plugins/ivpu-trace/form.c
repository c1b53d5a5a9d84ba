/* SPDX-License-Identifier: Apache-2.0 */
/* See form.h. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "clock.h"
#include "form.h"

/* Width of the counts of uniq -c. */
#define COUNT_COLUMNS 7u

static bool word_is(struct text_span word, const char *text)
{
	return word.length == strlen(text) && !strncasecmp(word.text, text, word.length);
}

static enum trace_column column_of(struct text_span word)
{
	static const struct {
		const char *name;
		enum trace_column column;
	} names[] = {
		{ "TIME", TRACE_COLUMN_TIME },         { "TIMESTAMP", TRACE_COLUMN_TIME },
		{ "PID", TRACE_COLUMN_PID },           { "COMM", TRACE_COLUMN_COMM },
		{ "PROCESS", TRACE_COLUMN_COMM },      { "FUNC", TRACE_COLUMN_FUNCTION },
		{ "FUNCTION", TRACE_COLUMN_FUNCTION }, { "PROBE", TRACE_COLUMN_FUNCTION },
		{ "EVENT", TRACE_COLUMN_FUNCTION },    { "CALL", TRACE_COLUMN_FUNCTION },
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (word_is(word, names[i].name))
			return names[i].column;
	return TRACE_COLUMN_SKIPPED;
}

static bool column_heading_parse(struct trace_form *form, struct text_span text)
{
	enum trace_column columns[TRACE_COLUMNS_MAX];
	uint32_t count = 0, functions = 0, known = 0;
	uint64_t unit = 0;
	struct text_span word;
	while ((word = span_take_word(&text)).length) {
		struct text_span name = word, rest = word;
		if (count == TRACE_COLUMNS_MAX)
			return false;
		if (span_take_field(&rest, '(', &name) && span_ends(rest, ")"))
			rest.length--;
		enum trace_column column = column_of(name);
		if (column == TRACE_COLUMN_TIME && rest.length)
			unit = trace_unit_find(rest);
		known += column != TRACE_COLUMN_SKIPPED;
		functions += column == TRACE_COLUMN_FUNCTION;
		columns[count++] = column;
	}
	if (functions != 1 || known < 2)
		return false;
	memcpy(form->columns, columns, sizeof columns);
	form->column_count = count;
	form->unit = unit;
	return true;
}

static bool word_function_parse(struct text_span word, struct trace_line *line)
{
	bool is_return = false;
	if (!trace_line_take_probe(&word, &is_return) && !span_begins(word, "ivpu_"))
		return false;
	if (!trace_line_set_name(line->name, word))
		return false;
	line->kind = is_return ? TRACE_LINE_NOTHING : TRACE_LINE_CALL;
	return true;
}

static bool word_time_parse(struct text_span word, struct trace_line *line)
{
	/* The parser requires the blank that ends a time. */
	char text[64];
	if (word.length + 2 > sizeof text)
		return false;
	memcpy(text, word.text, word.length);
	text[word.length] = ' ';
	struct text_span time = { text, word.length + 1 };
	return trace_line_take_time(&time, line);
}

static bool column_parse(enum trace_column column, struct text_span word, struct trace_line *line)
{
	switch (column) {
	case TRACE_COLUMN_TIME:
		return word_time_parse(word, line);
	case TRACE_COLUMN_PID:
		return trace_line_set_pid(line, word);
	case TRACE_COLUMN_FUNCTION:
		return word_function_parse(word, line);
	default:
		return true;
	}
}

static struct text_span last_word_take(struct text_span *text)
{
	*text = span_trim(*text);
	size_t begin = text->length;
	while (begin && !is_blank(text->text[begin - 1]))
		begin--;
	struct text_span word = span_part(*text, begin, text->length);
	text->length = begin;
	return word;
}

/*
 * A process name may contain blanks: the columns before it are counted from the left, those after it from the right.
 */
static bool columns_parse(const struct trace_form *form, struct text_span text, struct trace_line *line)
{
	uint32_t first = 0, last = form->column_count;
	for (; first < last && form->columns[first] != TRACE_COLUMN_COMM; first++)
		if (!column_parse(form->columns[first], span_take_word(&text), line))
			return false;
	for (; last > first + 1; last--)
		if (!column_parse(form->columns[last - 1], last_word_take(&text), line))
			return false;
	if (first < last)
		trace_line_set_comm(line, text);
	return (first < last || !span_trim(text).length) && line->name[0];
}

static bool is_time_text(struct text_span word)
{
	return word.length && (*word.text == '[' ? is_digit(word.text[word.length > 1]) : is_digit(*word.text)) &&
	       (*word.text == '[' || memchr(word.text, ':', word.length) || memchr(word.text, '.', word.length));
}

static bool is_number(struct text_span word)
{
	uint64_t number;
	return span_decimal(word, &number);
}

/* Parses "TIME PID COMM", of which each may be missing. A lone number beside a name is a pid if it can be one. */
static bool words_before_parse(struct text_span text, struct trace_line *line)
{
	struct text_span rest = text, word = span_take_word(&rest), next = rest;
	bool has_time = is_time_text(word);
	if (!has_time && is_number(word)) {
		struct text_span second = span_take_word(&next);
		uint64_t number = 0;
		span_decimal(word, &number);
		has_time = is_number(second) || !second.length || number > TRACE_PID_MAX;
	}
	if (has_time) {
		if (!word_time_parse(word, line))
			return false;
		text = span_trim(rest);
	}
	rest = text;
	if (is_number(word = span_take_word(&rest))) {
		if (!trace_line_set_pid(line, word))
			return false;
		text = span_trim(rest);
	} else {
		rest = text;
		if (text.length && is_number(word = last_word_take(&rest))) {
			if (!trace_line_set_pid(line, word))
				return false;
			text = span_trim(rest);
		}
	}
	trace_line_set_comm(line, text);
	/* Words without a time or process id are not the name of a process. */
	return !text.length || line->pid || line->time_kind != TRACE_TIME_NONE;
}

/* uniq -c: a number that ends in column 7, or is longer, and a blank. */
static void count_column_find(struct text_span text, struct trace_line *line)
{
	size_t end = 0;
	while (end < text.length && text.text[end] == ' ')
		end++;
	size_t blanks = end;
	while (end < text.length && is_digit(text.text[end]))
		end++;
	if (end == text.length || text.text[end] != ' ')
		return;
	line->is_column = blanks && end == COUNT_COLUMNS;
	line->is_wide = !blanks && end >= COUNT_COLUMNS;
}

static bool words_parse(struct text_span text, struct trace_line *line)
{
	struct text_span before = span_trim(text), word = last_word_take(&before);
	before = span_trim(before);
	if (!word_function_parse(word, line))
		return false;
	/* A function alone, and what trace_line_parse() reads. */
	if (!before.length)
		return line->kind == TRACE_LINE_CALL;
	if (!words_before_parse(before, line)) {
		line->name[0] = '\0';
		return false;
	}
	line->is_lone = line->time_kind == TRACE_TIME_NANOSECONDS && !line->pid && !line->comm[0];
	if (line->is_lone)
		count_column_find(text, line);
	return true;
}

/* What the published scripts print about calls in words of their own. */
static bool script_line_parse(struct text_span text, struct trace_line *line)
{
	static const struct {
		const char *text, *function;
	} lines[] = {
		{ "[KERNEL] Submit ioctl", "ivpu_submit_ioctl" },
		{ "[FIRMWARE] IPC interrupt", "ivpu_ipc_irq_handler" },
	};
	const char *function = NULL;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (span_is(text, lines[i].text))
			function = lines[i].function;
	line->kind = TRACE_LINE_CALL;
	if (!function && span_take(&text, "Buffer allocation took ") && span_take_decimal(&text, &line->duration) &&
	    span_is(text, " us") && line->duration <= UINT64_MAX / 1000) {
		function = "ivpu_bo_create_ioctl";
		line->duration *= 1000;
		line->has_duration = true;
	} else if (!function && span_take(&text, "IPC messages/sec: ") && span_decimal(text, &line->count)) {
		/* The script counts calls, most of which are polls. */
		function = "ivpu_ipc_receive";
		line->kind = TRACE_LINE_COUNT;
		line->is_column = true;
	}
	return function && trace_line_set_name(line->name, span_of(function));
}

/* Text that contains no data: titles of scripts and headings of tools. */
static bool is_heading(struct text_span text)
{
	return span_is_comment(text) || span_is(text, "#") || span_begins(text, "Tracing ") ||
	       (span_begins(text, "==") && span_ends(text, "==")) || span_begins(text, "cpus=") ||
	       span_begins(text, "version = ") || (span_begins(text, "CPU ") && span_ends(text, " is empty")) ||
	       span_begins(text, "[API] ");
}

/* ftrace: "CPU:1 [LOST 12 EVENTS]"; trace-cmd: "CPU:1 [12 EVENTS DROPPED]", "CPU:1 [EVENTS DROPPED]". */
static bool lost_parse(struct text_span text, struct trace_line *line)
{
	uint64_t cpu;
	if (!span_take(&text, "CPU:") || !span_take_decimal(&text, &cpu) || !span_take(&text, " ["))
		return false;
	if (span_take(&text, "LOST ") ? !span_take_decimal(&text, &line->count) || !span_is(text, " EVENTS]")
				      : !span_is(text, "EVENTS DROPPED]") && (!span_take_decimal(&text, &line->count) ||
									      !span_is(text, " EVENTS DROPPED]")))
		return false;
	line->kind = TRACE_LINE_LOST;
	line->count = line->count ? line->count : UINT64_MAX; /* not known */
	return true;
}

/* Returns whether the line has a form that bpftrace does not write by itself. */
static bool other_form_parse(struct trace_form *form, struct text_span whole, struct trace_line *line)
{
	struct text_span text = span_trim(whole);
	if (is_heading(text) || trace_histograms_parse_title(&form->histograms, text) ||
	    column_heading_parse(form, text)) {
		line->kind = TRACE_LINE_NOTHING;
		return true;
	}
	if (trace_histograms_parse_bucket(&form->histograms, text, line) || lost_parse(text, line) ||
	    script_line_parse(text, line) || trace_task_parse(&form->tasks, text, line) ||
	    trace_graph_parse(&form->tasks, whole, line) || (form->column_count && columns_parse(form, text, line)))
		return true;
	/* Columns that do not fit leave nothing behind. */
	*line = (struct trace_line){ .kind = TRACE_LINE_NOTHING };
	return words_parse(whole, line);
}

/* Begins with "@calls[" or "@calls[matmul, ", of a map whose key has a stack. */
static bool key_begin(struct trace_form *form, struct text_span text)
{
	struct text_span map;
	bool is_open = (span_ends(text, "[") || span_ends(text, ",")) && span_take(&text, "@") &&
		       span_take_field(&text, '[', &map) && !memchr(text.text, ']', text.length);
	form->key.map[0] = '\0';
	form->key.is_open = is_open && (!map.length || trace_line_set_name(form->key.map, map));
	form->key.function[0] = '\0';
	return form->key.is_open;
}

/*
 * Parses a key with a stack, which kstack writes as lines: "    ivpu_open+1", and at its end "]: 3" or ", matmul]: 3".
 * The innermost function was called.
 */
static bool key_parse(struct trace_form *form, struct text_span text, struct trace_line *line)
{
	char whole[3 * TRACE_NAME_SIZE_MAX];
	struct text_span name;
	const char *end = text.length ? memmem(text.text, text.length, "]:", 2) : NULL;
	if (!form->key.is_open || span_begins(text, "@"))
		return key_begin(form, text);
	if (!end) {
		if (!form->key.function[0] && span_take_field(&text, '+', &name))
			(void)!trace_line_set_name(form->key.function, name);
		return true;
	}
	form->key.is_open = false;
	text = span_part(text, (size_t)(end - text.text), text.length);
	int size = snprintf(whole, sizeof whole, "@%s[%s%.*s", form->key.map, form->key.function, (int)text.length,
			    text.text);
	if (size > 0 && (size_t)size < sizeof whole)
		trace_line_parse(whole, (size_t)size, line);
	return true;
}

void trace_form_parse(struct trace_form *form, const char *bytes, size_t size, struct trace_line *line)
{
	*line = (struct trace_line){ .kind = TRACE_LINE_NOTHING };
	if (size > TRACE_LINE_SIZE_MAX) {
		trace_line_refuse(line, "too long");
		return;
	}
	struct text_span whole = { bytes, size - (size && bytes[size - 1] == '\r') };
	/* The byte order mark of editors on Windows. */
	if (span_take(&whole, "\xef\xbb\xbf")) {
		bytes += 3;
		size -= 3;
	}
	if (!span_trim(whole).length || memchr(bytes, '\0', size))
		return;
	if (key_parse(form, span_trim(whole), line))
		return;
	if (!other_form_parse(form, whole, line))
		trace_line_parse(bytes, size, line);
	if (!line->lane)
		line->lane = line->pid;
}
