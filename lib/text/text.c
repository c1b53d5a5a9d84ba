/* SPDX-License-Identifier: Apache-2.0 */
/* See text.h. */
#include "text/text.h"

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

void text_shrink(struct text *text)
{
	char *moved = text->size ? realloc(text->data, text->size) : NULL;
	if (!moved)
		return;
	text->data = moved;
	text->capacity = text->size;
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
	va_list arguments, again;
	va_start(arguments, format);
	va_copy(again, arguments);
	size_t room = text->capacity - text->size;
	int length = vsnprintf(text->data ? text->data + text->size : NULL, room, format, arguments);
	if (length < 0)
		text->failed = true;
	else if ((size_t)length >= room && text_reserve(text, (size_t)length + 1))
		vsnprintf(text->data + text->size, (size_t)length + 1, format, again);
	if (!text->failed)
		text->size += (size_t)length;
	va_end(again);
	va_end(arguments);
}

const char *text_string(struct text *text)
{
	if (!text_reserve(text, 1))
		return "";
	text->data[text->size] = '\0';
	return text->data;
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

void text_append_hexadecimal(struct text *text, const uint8_t *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < size; i++)
		text_append(text, (const char[]){ digits[bytes[i] >> 4], digits[bytes[i] & 15] }, 2);
}

uint32_t utf8_decode(const char *text, size_t *length)
{
	const unsigned char *bytes = (const unsigned char *)text;
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

bool utf8_is_unsafe(uint32_t character)
{
	return character < 0x20 || (character >= 0x7f && character <= 0x9f) || /* control */
	       character == 0x61c || character == 0x200e || character == 0x200f ||
	       (character >= 0x2028 && character <= 0x202e) || /* line separators and text direction marks */
	       (character >= 0x2066 && character <= 0x2069) || character == 0xfeff || character == UINT32_MAX;
}

void text_append_name(struct text *text, const char *name)
{
	size_t begin = text->size;
	while (*name) {
		size_t length = 0;
		while (name[length] > ' ' && name[length] < 0x7f) /* most characters of most names */
			length++;
		if (length) {
			text_append(text, name, length);
			name += length;
			continue;
		}
		uint32_t character = utf8_decode(name, &length);
		if (is_space(character)) {
			if (text->size > begin)
				text_append(text, " ", 1);
		} else if (utf8_is_unsafe(character))
			text_append(text, "?", 1);
		else
			text_append(text, name, length);
		name += length;
	}
	while (text->size > begin && text->data[text->size - 1] == ' ')
		text->size--;
}

/* A sanitized name has no line ends or control characters: only these two characters are special in JSON. */
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
		return host->fail(host, ENOMEM, "out of memory for the output");
	int result = host->output_write(host, output, text_string(text), text->size);
	text->size = 0;
	return result;
}

int text_write_whole(struct text *text, const struct iaprof_host *host, const char *variant)
{
	struct iaprof_output *output = host->output_open(host, variant, 0);
	if (!output)
		return -EIO;
	int result = text_write(text, host, output);
	if (result < 0) {
		host->output_discard(host, output);
		return result;
	}
	return host->output_close(host, output);
}

int output_is_finished(const struct iaprof_host *host, void *instance)
{
	return 0;
}

void text_free(struct text *text)
{
	free(text->data);
	*text = (struct text){ 0 };
}
