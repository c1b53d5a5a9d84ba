/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_columns.h. */
#include <strings.h>
#include "trace_columns.h"

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

bool trace_columns_take_heading(struct trace_form *form, struct text_span text)
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

static bool set_function(struct text_span word, struct trace_line *line)
{
	bool is_return = false;
	if (!trace_line_take_probe(&word, &is_return) && !span_begins(word, "ivpu_"))
		return false;
	if (!trace_line_set_name(line->name, word))
		return false;
	line->kind = is_return ? TRACE_LINE_NOTHING : TRACE_LINE_CALL;
	return true;
}

static bool set_time(struct text_span word, struct trace_line *line)
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

static bool set_column(enum trace_column column, struct text_span word, struct trace_line *line)
{
	switch (column) {
	case TRACE_COLUMN_TIME:
		return set_time(word, line);
	case TRACE_COLUMN_PID:
		return trace_line_set_pid(line, word);
	case TRACE_COLUMN_FUNCTION:
		return set_function(word, line);
	default:
		return true;
	}
}

static struct text_span take_last_word(struct text_span *text)
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
bool trace_columns_parse(const struct trace_form *form, struct text_span text, struct trace_line *line)
{
	uint32_t first = 0, last = form->column_count;
	for (; first < last && form->columns[first] != TRACE_COLUMN_COMM; first++)
		if (!set_column(form->columns[first], span_take_word(&text), line))
			return false;
	for (; last > first + 1; last--)
		if (!set_column(form->columns[last - 1], take_last_word(&text), line))
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
static bool take_before(struct text_span text, struct trace_line *line)
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
		if (!set_time(word, line))
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
		if (text.length && is_number(word = take_last_word(&rest))) {
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
static void find_count_column(struct text_span text, struct trace_line *line)
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

bool trace_words_parse(struct text_span text, struct trace_line *line)
{
	struct text_span before = span_trim(text), word = take_last_word(&before);
	before = span_trim(before);
	if (!set_function(word, line))
		return false;
	/* A function alone, and what trace_line_parse() reads. */
	if (!before.length)
		return line->kind == TRACE_LINE_CALL;
	if (!take_before(before, line)) {
		line->name[0] = '\0';
		return false;
	}
	line->is_lone = line->time_kind == TRACE_TIME_NANOSECONDS && !line->pid && !line->comm[0];
	if (line->is_lone)
		find_count_column(text, line);
	return true;
}
