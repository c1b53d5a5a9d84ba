/* SPDX-License-Identifier: Apache-2.0 */
/* See display_names.h. */
#include "symbolizer/display_names.h"

#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>
#include "plugin/decoder.h"
#include "symbolizer/demangle.h"

/* Size of the cache; a miss costs a demangling. */
#define NEWEST_COUNT 4096

struct display_name {
	const char *name, *text;
};

void display_names_free(struct display_names *names)
{
	free(names->newest);
	names->newest = NULL;
}

const char *display_names_get(struct display_names *names, const char *name)
{
	if (!names->newest)
		names->newest = calloc(NEWEST_COUNT, sizeof *names->newest);
	if (!names->newest)
		return NULL;
	struct display_name *shown = &names->newest[hash_u64((uint64_t)(uintptr_t)name) % NEWEST_COUNT];
	if (shown->name == name)
		return shown->text;
	char text[DEMANGLE_LENGTH_MAX + 1];
	size_t length = demangle(name, text);
	const char *made = length ? string_table_intern(names->strings, text, length)
				  : string_table_intern(names->strings, name, strnlen(name, IAPROF_STRING_LENGTH_MAX));
	length = made && names->decoder ? decoder_display_name(names->decoder, made, text, sizeof text) : 0;
	if (length)
		made = string_table_intern(names->strings, text, length);
	if (made)
		*shown = (struct display_name){ .name = name, .text = made };
	return made;
}
