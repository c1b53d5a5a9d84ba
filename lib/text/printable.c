/* SPDX-License-Identifier: Apache-2.0 */
/* See printable.h. */
#include "text/printable.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "text/text.h"

void text_make_printable(char *text)
{
	for (size_t length; *text; text += length)
		if (utf8_is_unsafe(utf8_decode(text, &length))) {
			*text = '?';
			length = 1;
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

const char *path_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	return slash && slash[1] ? slash + 1 : path;
}

struct path_end path_end(const char *path)
{
	struct path_end end;
	size_t length = strlen(path);
	if (length < sizeof end.text) {
		memcpy(end.text, path, length + 1);
		return end;
	}
	const char *from = path + length - (sizeof end.text - sizeof "...");
	while (((unsigned char)*from & 0xc0) == 0x80)
		from++; /* not within a UTF-8 character */
	snprintf(end.text, sizeof end.text, "...%s", from);
	return end;
}
