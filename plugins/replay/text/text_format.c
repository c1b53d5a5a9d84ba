/* SPDX-License-Identifier: Apache-2.0 */
/* See text_format.h. */
#include "text_format.h"

#include "capture/capture_format.h"
#include "folded_text.h"
#include "perf_script.h"
#include "stall_stream.h"
#include "text/text_span.h"

/*
 * Maximum number of lines in no known format before the first recognised one: a program's messages before its output.
 */
#define STRANGE_LINES_MAX 16

/* Removes a line. Returns false if there is no complete one. */
static bool take_line(struct text_span *rest, bool is_whole, struct text_span *line)
{
	if (!rest->length || (!memchr(rest->text, '\n', rest->length) && !is_whole))
		return false;
	span_take_field(rest, '\n', line);
	if (line->length && line->text[line->length - 1] == '\r')
		line->length--;
	return true;
}

static enum text_format format_of_line(struct text_span line, struct text_span after)
{
	if (memchr(line.text, '\0', line.length))
		return TEXT_FORMAT_NONE;
	if (stall_stream_is(line))
		return TEXT_FORMAT_STREAM;
	/* Checked first: its lines can end with a number, while folded lines never look like the header of a sample. */
	if (perf_script_is(line, after))
		return TEXT_FORMAT_PERF_SCRIPT;
	return folded_text_is(line) ? TEXT_FORMAT_FOLDED : TEXT_FORMAT_NONE;
}

/* Returns the format of the first line that has one. */
static enum text_format choose_format(struct text_span rest, bool is_whole)
{
	struct text_span line, after;
	for (int strange = 0; strange < STRANGE_LINES_MAX && take_line(&rest, is_whole, &line);) {
		struct text_span next = rest;
		if (!span_trim(line).length || span_is_comment(line))
			continue;
		bool has_next = take_line(&next, is_whole, &after);
		enum text_format format = format_of_line(line, has_next ? after : (struct text_span){ 0 });
		if (format != TEXT_FORMAT_NONE)
			return format;
		if (!has_next && !is_whole)
			return TEXT_FORMAT_MORE;
		strange++;
	}
	return is_whole ? TEXT_FORMAT_NONE : TEXT_FORMAT_MORE;
}

static bool has_form(enum text_format format, struct text_span line, struct text_span after, bool is_below_form)
{
	if (memchr(line.text, '\0', line.length))
		return false;
	return format == TEXT_FORMAT_PERF_SCRIPT ? perf_script_has_form(line, after, is_below_form)
						 : folded_text_has_form(line);
}

/* Checks that half of the lines have the form of the format. Returns the format, TEXT_FORMAT_NONE or _MORE. */
static enum text_format check_lines(enum text_format format, struct text_span rest, bool is_whole,
				    struct text_line *strange)
{
	struct text_span line, after;
	int good = 0, bad = 0;
	bool is_below_form = false;
	for (uint64_t number = 1; good + bad < TEXT_FORMAT_LINES && take_line(&rest, is_whole, &line); number++) {
		struct text_span next = rest;
		bool has_next = take_line(&next, is_whole, &after);
		if (!span_trim(line).length || span_is_comment(line))
			continue;
		is_below_form = has_form(format, line, has_next ? after : (struct text_span){ 0 }, is_below_form);
		if (!is_below_form && !has_next && !is_whole)
			return TEXT_FORMAT_MORE;
		good += is_below_form;
		bad += !is_below_form;
		if (!is_below_form && !strange->number)
			*strange = (struct text_line){ .text = line, .number = number };
		if (2 * good >= TEXT_FORMAT_LINES)
			return format;
	}
	if (!is_whole && good + bad < TEXT_FORMAT_LINES)
		return TEXT_FORMAT_MORE;
	return good >= bad ? format : TEXT_FORMAT_NONE;
}

enum text_format text_format_of(const char *bytes, size_t size, bool is_whole, struct text_line *strange)
{
	struct text_line unused;
	size_t magic = sizeof CAPTURE_MAGIC - 1;
	if (!strange)
		strange = &unused;
	*strange = (struct text_line){ 0 };
	if (size && memcmp(bytes, CAPTURE_MAGIC, size < magic ? size : magic) == 0)
		return size < magic && !is_whole ? TEXT_FORMAT_MORE : TEXT_FORMAT_CAPTURE;
	/* The first line is longer than the bytes examined, which occurs in no other format. */
	if (is_whole && size >= TEXT_FORMAT_SIZE && !memchr(bytes, '\n', size) && memchr(bytes, ';', size))
		return TEXT_FORMAT_FOLDED;
	struct text_span all = { bytes, size };
	span_take(&all, TEXT_BYTE_ORDER_MARK);
	enum text_format format = choose_format(all, is_whole);
	if (format == TEXT_FORMAT_STREAM || format == TEXT_FORMAT_MORE)
		return format;
	/* In no format: finds the first line that is not a stack. */
	enum text_format found =
		check_lines(format == TEXT_FORMAT_NONE ? TEXT_FORMAT_FOLDED : format, all, is_whole, strange);
	return format == TEXT_FORMAT_NONE ? TEXT_FORMAT_NONE : found;
}
