/* SPDX-License-Identifier: Apache-2.0 */
/* Truncates names to columns: see display_width.h. */
#include "display_width.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* Combining marks take no column; this limits them per character. */
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
	/* A locale forwarded by a remote login may not be installed. */
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

unsigned columns_append(struct text *text, const struct charset *charset, const char *name, unsigned columns)
{
	struct text safe = { 0 };
	text_append_name(&safe, name);
	text->failed |= safe.failed;
	locale_t before = charset->utf8 ? uselocale(charset->locale) : (locale_t)0;
	unsigned used = 0, marks = 0;
	for (size_t at = 0; !safe.failed && at < safe.size;) {
		size_t size;
		wchar_t character = (wchar_t)utf8_decode(text_string(&safe) + at, &size);
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
