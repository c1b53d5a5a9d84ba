/* SPDX-License-Identifier: Apache-2.0 */
/* Small things that every reader of text does with spans of it. */
#ifndef IAPROF_PLUGINS_REPLAY_TEXT_SPAN_H
#define IAPROF_PLUGINS_REPLAY_TEXT_SPAN_H

#include <string.h>

#include "text_profile.h"

static inline struct text_span span_of(const char *text)
{
	return (struct text_span){ text, strlen(text) };
}

/* The part from begin up to end. Of nothing, which may have no address, it is nothing. */
static inline struct text_span span_part(struct text_span span, size_t begin, size_t end)
{
	if (!span.length)
		return span;
	return (struct text_span){ span.text + begin, end - begin };
}

static inline bool span_is(struct text_span span, const char *text)
{
	return span.length == strlen(text) && (!span.length || memcmp(span.text, text, span.length) == 0);
}

static inline bool span_begins(struct text_span span, const char *text)
{
	size_t length = strlen(text);
	return span.length >= length && memcmp(span.text, text, length) == 0;
}

static inline bool span_ends(struct text_span span, const char *text)
{
	size_t length = strlen(text);
	return span.length >= length && memcmp(span.text + span.length - length, text, length) == 0;
}

static inline bool is_blank(char character)
{
	return character == ' ' || character == '\t';
}
static inline bool is_digit(char character)
{
	return character >= '0' && character <= '9';
}
static inline bool is_hexadecimal(char character)
{
	return is_digit(character) || (character >= 'a' && character <= 'f') || (character >= 'A' && character <= 'F');
}

/* "# so it was made", as perf script --header and people write it: a program can be called "#1". */
static inline bool span_is_comment(struct text_span line)
{
	return line.length && line.text[0] == '#' && (line.length == 1 || is_blank(line.text[1]));
}

/* Without the blanks at both ends. */
struct text_span span_trim(struct text_span span);
/* Takes the text up to the next blank off the front, and the blanks before it. Empty: there is no more. */
struct text_span span_take_word(struct text_span *span);
/* Takes the text up to the next separator off the front, and the separator. False: the span was taken whole before. */
bool span_take_field(struct text_span *span, char separator, struct text_span *field);

/* The whole span as a number; false when it is none, or too large. */
bool span_decimal(struct text_span span, uint64_t *number);
bool span_hexadecimal(struct text_span span, uint64_t *number); /* without 0x */
bool span_signed(struct text_span span, int64_t *number);
/* Seconds with or without a fraction, as nanoseconds; further digits are cut off. */
bool span_seconds(struct text_span span, uint64_t *nanoseconds);

#endif
