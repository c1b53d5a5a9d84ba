/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions as they are shown: see shown_names.h. */
#include "symbolizer/shown_names.h"

#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>
#include "symbolizer/demangle.h"

/* Forgetting one costs a demangling. */
#define NEWEST_COUNT 4096

/* What a demangler makes of _ZTS; also compilers write it into debug information. */
#define TYPE_NAME_PREFIX "typeinfo name for "

struct shown_name {
	const char *name, *text;
};

void shown_names_free(struct shown_names *names)
{
	free(names->newest);
	names->newest = NULL;
}

const char *shown_names_get(struct shown_names *names, const char *name)
{
	if (!names->newest)
		names->newest = calloc(NEWEST_COUNT, sizeof *names->newest);
	if (!names->newest)
		return NULL;
	struct shown_name *shown = &names->newest[hash_u64((uint64_t)(uintptr_t)name) % NEWEST_COUNT];
	if (shown->name == name)
		return shown->text;
	char text[DEMANGLE_LENGTH_MAX + 1];
	size_t length = demangle(name, text);
	const char *made = length ? string_table_intern(names->strings, text, length)
				  : string_table_intern(names->strings, name, strnlen(name, IAPROF_STRING_LENGTH_MAX));
	/* A SYCL kernel is named after the name of the type that stands for it; nothing else that runs is. */
	if (made && strncmp(made, TYPE_NAME_PREFIX, strlen(TYPE_NAME_PREFIX)) == 0)
		made += strlen(TYPE_NAME_PREFIX);
	if (made)
		*shown = (struct shown_name){ .name = name, .text = made };
	return made;
}
