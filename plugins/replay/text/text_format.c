/* SPDX-License-Identifier: Apache-2.0 */
/* See text_format.h. */
#include "text_format.h"

#include "common/capture_format.h"
#include "folded_text.h"
#include "perf_script.h"
#include "stall_stream.h"
#include "text_span.h"

/* So many lines that are of no format may come first: what a program said before its output. */
#define STRANGE_LINES_MAX 16

/* Takes a line off; false when there is none whole. */
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
	/* First, for its lines can end with a number, while folded ones never look like the beginning of a sample. */
	if (perf_script_is(line, after))
		return TEXT_FORMAT_PERF_SCRIPT;
	return folded_text_is(line) ? TEXT_FORMAT_FOLDED : TEXT_FORMAT_NONE;
}

enum text_format text_format_of(const char *bytes, size_t size, bool is_whole)
{
	const enum text_format undecided = is_whole ? TEXT_FORMAT_NONE : TEXT_FORMAT_MORE;
	struct text_span rest = { bytes, size }, line, after;
	size_t magic = sizeof CAPTURE_MAGIC - 1;
	if (size && memcmp(bytes, CAPTURE_MAGIC, size < magic ? size : magic) == 0)
		return size < magic && !is_whole ? TEXT_FORMAT_MORE : TEXT_FORMAT_CAPTURE;
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
	/* The first line is longer than what is looked at: no other format has such. */
	if (is_whole && size >= TEXT_FORMAT_SIZE && !memchr(bytes, '\n', size) && memchr(bytes, ';', size))
		return TEXT_FORMAT_FOLDED;
	return undecided;
}
