/* SPDX-License-Identifier: Apache-2.0 */
/* Text that sinks write: see text.h. */
#include "common/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool text_reserve(struct text *text, size_t more)
{
	if (text->failed)
		return false;
	if (more <= text->capacity - text->size)
		return true;
	size_t larger = text->capacity ? text->capacity * 2 : 256;
	while (larger - text->size < more)
		larger *= 2;
	char *moved = realloc(text->data, larger);
	if (!moved) {
		text->failed = true;
		return false;
	}
	text->data = moved;
	text->capacity = larger;
	return true;
}

void text_append(struct text *text, const char *bytes, size_t size)
{
	if (!size || !text_reserve(text, size))
		return;
	memcpy(text->data + text->size, bytes, size);
	text->size += size;
}

void text_append_string(struct text *text, const char *string)
{
	text_append(text, string, strlen(string));
}

void text_append_format(struct text *text, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	char formatted[256];
	int length = vsnprintf(formatted, sizeof formatted, format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof formatted)
		text->failed = true; /* formats here are of numbers: they fit */
	else
		text_append(text, formatted, (size_t)length);
}

void text_append_unsigned(struct text *text, uint64_t value)
{
	char digits[20];
	size_t begin = sizeof digits;
	do
		digits[--begin] = (char)('0' + value % 10);
	while (value /= 10);
	text_append(text, digits + begin, sizeof digits - begin);
}

/* The character at bytes (ends in NUL) and its length; UINT32_MAX and 1 for a byte that is not UTF-8 (RFC 3629). */
static uint32_t utf8_decode(const unsigned char *bytes, size_t *length)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	*length = 1;
	if (bytes[0] < 0x80)
		return bytes[0];
	size_t size = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : bytes[0] >= 0xc0 ? 2 : 0;
	if (!size || bytes[0] >= 0xf8)
		return UINT32_MAX;
	uint32_t character = bytes[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return UINT32_MAX;
		character = character << 6 | (bytes[i] & 0x3fu);
	}
	if (character < smallest[size] || character > 0x10ffff || (character >= 0xd800 && character <= 0xdfff))
		return UINT32_MAX;
	*length = size;
	return character;
}

/* Unicode 15, property White_Space, without the control characters and the line and paragraph separators. */
static bool is_space(uint32_t character)
{
	return character == ' ' || character == 0xa0 || character == 0x1680 ||
	       (character >= 0x2000 && character <= 0x200a) || character == 0x202f || character == 0x205f ||
	       character == 0x3000;
}

static bool is_unsafe(uint32_t character)
{
	return character < 0x20 || (character >= 0x7f && character <= 0x9f) || /* control */
	       character == 0x61c || character == 0x200e || character == 0x200f ||
	       (character >= 0x2028 && character <= 0x202e) || /* separators of lines, direction of text */
	       (character >= 0x2066 && character <= 0x2069) || character == 0xfeff || character == UINT32_MAX;
}

void text_append_name(struct text *text, const char *name)
{
	const unsigned char *bytes = (const unsigned char *)name;
	size_t begin = text->size;
	while (*bytes) {
		size_t length = 0;
		while (bytes[length] > ' ' && bytes[length] < 0x7f) /* nearly all of nearly every name */
			length++;
		if (length) {
			text_append(text, (const char *)bytes, length);
			bytes += length;
			continue;
		}
		uint32_t character = utf8_decode(bytes, &length);
		if (is_space(character)) {
			if (text->size > begin)
				text_append(text, " ", 1);
		} else if (is_unsafe(character))
			text_append(text, "?", 1);
		else
			text_append(text, (const char *)bytes, length);
		bytes += length;
	}
	while (text->size > begin && text->data[text->size - 1] == ' ')
		text->size--;
}

/* No line ends or control characters are left in a name: only these two mean something in JSON. */
void text_append_json(struct text *text, const char *name)
{
	struct text clean = { 0 };
	text_append_name(&clean, name ? name : "");
	text->failed |= clean.failed;
	text_append(text, "\"", 1);
	for (size_t i = 0; !clean.failed && i < clean.size; i++) {
		if (clean.data[i] == '"' || clean.data[i] == '\\')
			text_append(text, "\\", 1);
		text_append(text, &clean.data[i], 1);
	}
	text_append(text, "\"", 1);
	text_free(&clean);
}

int text_write(struct text *text, const struct iaprof_host *host, struct iaprof_output *output)
{
	if (text->failed)
		return host->fail(host, ENOMEM, "not enough memory for the output");
	int result = host->output_write(host, output, text->data, text->size);
	text->size = 0;
	return result;
}

int text_write_whole(struct text *text, const struct iaprof_host *host, const char *variant)
{
	struct iaprof_output *output = host->output_open(host, variant);
	if (!output)
		return -EIO;
	int result = text_write(text, host, output);
	if (result < 0) {
		host->output_discard(host, output);
		return result;
	}
	return host->output_close(host, output);
}

void text_free(struct text *text)
{
	free(text->data);
	*text = (struct text){ 0 };
}
