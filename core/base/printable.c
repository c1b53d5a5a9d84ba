/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces control characters: see printable.h. */
#include "base/printable.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

/* Bytes of the character at text when it is UTF-8 in its shortest form and no control character; else 0. */
static size_t printable_length(const unsigned char *text)
{
	if (text[0] < 0x80)
		return text[0] >= 0x20 && text[0] != 0x7f;
	size_t length = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	if (text[0] < 0xc2 || text[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	bool too_long = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
	bool control = text[0] == 0xc2 && text[1] < 0xa0;
	return too_long || control ? 0 : length;
}

void text_make_printable(char *text)
{
	while (*text) {
		size_t length = printable_length((const unsigned char *)text);
		if (!length)
			*text = '?';
		text += length ? length : 1;
	}
}

void text_print_printable(const char *text, int columns, FILE *file)
{
	CLEANUP_FREE char *printable = strdup(text);
	if (!printable)
		return;
	text_make_printable(printable);
	const char *end = printable;
	for (int column = 0; *end; end++)
		if (((unsigned char)*end & 0xc0) != 0x80 && column++ == columns)
			break;
	fwrite(printable, 1, (size_t)(end - printable), file);
}
