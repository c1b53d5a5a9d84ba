/* SPDX-License-Identifier: Apache-2.0 */
/* See text_span.h. */
#include "text/text_span.h"

struct text_span span_trim(struct text_span span)
{
	while (span.length && is_blank(span.text[0]))
		span = span_part(span, 1, span.length);
	while (span.length && is_blank(span.text[span.length - 1]))
		span.length--;
	return span;
}

struct text_span span_take_word(struct text_span *span)
{
	size_t begin = 0, end;
	while (begin < span->length && is_blank(span->text[begin]))
		begin++;
	for (end = begin; end < span->length && !is_blank(span->text[end]);)
		end++;
	struct text_span word = span_part(*span, begin, end);
	*span = span_part(*span, end, span->length);
	return word;
}

bool span_take_field(struct text_span *span, char separator, struct text_span *field)
{
	if (!span->text)
		return false;
	const char *end = span->length ? memchr(span->text, separator, span->length) : NULL;
	size_t length = end ? (size_t)(end - span->text) : span->length;
	*field = span_part(*span, 0, length);
	*span = end ? span_part(*span, length + 1, span->length) : (struct text_span){ 0 };
	return true;
}

bool span_decimal(struct text_span span, uint64_t *number)
{
	*number = 0;
	for (size_t i = 0; i < span.length; i++)
		if (!is_digit(span.text[i]) || __builtin_mul_overflow(*number, 10u, number) ||
		    __builtin_add_overflow(*number, (uint64_t)(span.text[i] - '0'), number))
			return false;
	return span.length > 0;
}

bool span_take(struct text_span *span, const char *beginning)
{
	if (!span_begins(*span, beginning))
		return false;
	*span = span_part(*span, strlen(beginning), span->length);
	return true;
}

bool span_take_decimal(struct text_span *span, uint64_t *number)
{
	size_t digits = 0;
	while (digits < span->length && is_digit(span->text[digits]))
		digits++;
	if (!span_decimal(span_part(*span, 0, digits), number))
		return false;
	*span = span_part(*span, digits, span->length);
	return true;
}

bool span_hexadecimal(struct text_span span, uint64_t *number)
{
	*number = 0;
	for (size_t i = 0; i < span.length; i++) {
		if (!is_hexadecimal(span.text[i]) || *number >> 60)
			return false;
		char digit = span.text[i];
		*number = *number << 4 | (uint64_t)(is_digit(digit) ? digit - '0' : (digit | 0x20) - 'a' + 10);
	}
	return span.length > 0;
}

bool span_signed(struct text_span span, int64_t *number)
{
	uint64_t amount;
	bool is_negative = span.length && span.text[0] == '-';
	if (!span_decimal(is_negative ? span_part(span, 1, span.length) : span, &amount) || amount > INT64_MAX)
		return false;
	*number = is_negative ? -(int64_t)amount : (int64_t)amount;
	return true;
}

bool span_seconds(struct text_span span, uint64_t *nanoseconds)
{
	const char *point = span.length ? memchr(span.text, '.', span.length) : NULL;
	size_t whole = point ? (size_t)(point - span.text) : span.length;
	uint64_t unit = 100000000, fraction = 0;
	if (!span_decimal(span_part(span, 0, whole), nanoseconds) ||
	    __builtin_mul_overflow(*nanoseconds, UINT64_C(1000000000), nanoseconds))
		return false;
	for (size_t i = whole + 1; i < span.length; i++, unit /= 10) {
		if (!is_digit(span.text[i]))
			return false;
		fraction += (uint64_t)(span.text[i] - '0') * unit;
	}
	return !__builtin_add_overflow(*nanoseconds, fraction, nanoseconds);
}
