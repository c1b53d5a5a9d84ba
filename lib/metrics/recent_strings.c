/* SPDX-License-Identifier: Apache-2.0 */
/* See recent_strings.h. */
#include "metrics/recent_strings.h"

#include <stdlib.h>
#include <string.h>

void recent_strings_take(struct recent_strings *strings, const struct iaprof_record_string *record)
{
	if (!strings->items)
		strings->items = calloc(RECENT_STRINGS, sizeof *strings->items);
	if (!strings->items)
		return;
	struct recent_string *item = &strings->items[record->id % RECENT_STRINGS];
	size_t length = strnlen(iaprof_record_string_text(record), RECENT_STRING_SIZE - 1);
	item->id = record->id;
	memcpy(item->text, iaprof_record_string_text(record), length);
	item->text[length] = '\0';
}

const char *recent_strings_text(const struct recent_strings *strings, uint32_t id)
{
	if (!id)
		return "";
	const struct recent_string *item = strings->items ? &strings->items[id % RECENT_STRINGS] : NULL;
	return item && item->id == id ? item->text : "[unknown]";
}

void recent_strings_free(struct recent_strings *strings)
{
	free(strings->items);
	strings->items = NULL;
}
