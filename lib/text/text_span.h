/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a borrowed text, for parsers. Pure; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Borrowed text, not terminated. */
struct text_span {
	const char *text; /* may be NULL if length is 0 */
	size_t length;
};

static inline struct text_span span_of(const char *text)
{
	return (struct text_span){ text, strlen(text) };
}

/* Returns the part from begin up to end; empty for an empty text, whose address may be NULL. */
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

/*
 * Returns whether a line is a comment, "# ...", as in perf script --header; the blank is required, because a program
 * may be named "#1".
 */
static inline bool span_is_comment(struct text_span line)
{
	return line.length && line.text[0] == '#' && (line.length == 1 || is_blank(line.text[1]));
}

/* Returns the text without blanks at both ends. */
struct text_span span_trim(struct text_span span);
/* Removes leading blanks and the word up to the next blank, which it returns. Empty: no word is left. */
struct text_span span_take_word(struct text_span *span);
/* Removes the text up to the next separator, stored in *field, and the separator. Returns false if nothing is left. */
bool span_take_field(struct text_span *span, char separator, struct text_span *field);

/* Removes the text from the beginning of the span. Returns false if it begins with something else. */
bool span_take(struct text_span *span, const char *beginning);
/* Removes decimal digits. Returns false if there are none or the number is too large. */
bool span_take_decimal(struct text_span *span, uint64_t *number);

/* Parse the whole span as a number; false if it is not a number or too large. */
bool span_decimal(struct text_span span, uint64_t *number);
bool span_hexadecimal(struct text_span span, uint64_t *number); /* without 0x */
bool span_signed(struct text_span span, int64_t *number);
/* Parses seconds with an optional fraction as nanoseconds; further digits are truncated. */
bool span_seconds(struct text_span span, uint64_t *nanoseconds);
