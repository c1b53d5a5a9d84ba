/* SPDX-License-Identifier: Apache-2.0 */
/* Names cut to columns: see columns.h. */
#include "columns.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* Marks above and below letters take no column; no language puts more of them on one. */
#define MARKS_MAX 4u

struct charset charset_of_user(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *name = NULL;
	for (size_t i = 0; i < sizeof variables / sizeof *variables && (!name || !*name); i++)
		name = getenv(variables[i]);
	struct charset charset = { .utf8 = name && (strcasestr(name, "utf-8") || strcasestr(name, "utf8")) };
	if (!charset.utf8)
		return charset;
	/* A locale that came with a login from elsewhere may not be installed here. */
	charset.locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	if (!charset.locale)
		charset.locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	charset.utf8 = charset.locale != (locale_t)0;
	return charset;
}

void charset_free(struct charset *charset)
{
	if (charset->locale)
		freelocale(charset->locale);
	*charset = (struct charset){ 0 };
}

/* One character of valid UTF-8. */
static size_t decode(const char *bytes, wchar_t *character)
{
	unsigned char first = (unsigned char)bytes[0];
	size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	uint32_t value = size == 1 ? first : first & (0x7fu >> size);
	for (size_t i = 1; i < size; i++)
		value = value << 6 | ((unsigned char)bytes[i] & 0x3fu);
	*character = (wchar_t)value;
	return size;
}

unsigned columns_append(struct text *text, const struct charset *charset, const char *name, unsigned columns)
{
	struct text safe = { 0 };
	text_append_name(&safe, name);
	text->failed |= safe.failed;
	locale_t before = charset->utf8 ? uselocale(charset->locale) : (locale_t)0;
	unsigned used = 0, marks = 0;
	for (size_t at = 0; !safe.failed && at < safe.size;) {
		wchar_t character;
		size_t size = decode(safe.data + at, &character);
		int width = size == 1 ? 1 : charset->utf8 ? wcwidth(character) : -1;
		bool is_shown = width > 0 || (width == 0 && used && marks < MARKS_MAX);
		if (width < 0)
			width = 1;
		if (used + (unsigned)width > columns)
			break;
		marks = width ? 0 : marks + 1;
		if (is_shown)
			text_append(text, safe.data + at, size);
		else if (width)
			text_append(text, "?", 1);
		used += (unsigned)width;
		at += size;
	}
	if (charset->utf8)
		uselocale(before);
	text_free(&safe);
	return used;
}
