/* SPDX-License-Identifier: Apache-2.0 */
/* See watched_calls.h. */
#include "watched_calls.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "elf/exported_functions.h"
#include "elf/function_table.h"

static bool take_index(const char *text, uint32_t *index)
{
	char *end;
	errno = 0;
	unsigned long number = strtoul(text, &end, 10);
	*index = (uint32_t)number;
	return end != text && !*end && !errno && number <= UINT32_MAX;
}

/* "LIBRARY FUNCTION..." or "LIBRARY ANCHOR@INDEX INDEX..." */
static bool parse_library(char *text, struct watched_calls *calls)
{
	char *rest = NULL;
	*calls = (struct watched_calls){ .library = strtok_r(text, " ", &rest) };
	for (char *word; calls->library && (word = strtok_r(NULL, " ", &rest));) {
		char *at = strchr(word, '@');
		if (at && !calls->anchor && !calls->count) {
			*at = '\0';
			calls->anchor = word;
			if (!take_index(at + 1, &calls->anchor_index))
				return false;
		} else if (calls->count == WATCHED_FUNCTIONS_MAX ||
			   (calls->anchor && !take_index(word, &calls->indexes[calls->count]))) {
			return false;
		} else {
			calls->names[calls->count++] = word;
		}
	}
	return calls->count;
}

size_t watched_calls_parse(char *text, struct watched_calls libraries[WATCHED_LIBRARIES_MAX])
{
	char *rest = NULL;
	size_t count = 0;
	for (char *part = strtok_r(text, ";", &rest); part; part = strtok_r(NULL, ";", &rest))
		if (count == WATCHED_LIBRARIES_MAX || !parse_library(part, &libraries[count++]))
			return 0;
	return count;
}

size_t watched_calls_find(const struct watched_calls *calls, const struct elf_reader *file,
			  uint64_t offsets[WATCHED_FUNCTIONS_MAX])
{
	size_t found = 0;
	if (calls->anchor)
		return function_table_find(file, calls->anchor, calls->anchor_index, calls->indexes, calls->count,
					   offsets)
			       ? calls->count
			       : 0;
	if (!exported_functions_find(file, calls->names, calls->count, offsets))
		return 0;
	for (size_t i = 0; i < calls->count; i++)
		if (offsets[i])
			offsets[found++] = offsets[i];
	return found;
}
