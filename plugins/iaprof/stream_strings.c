/* SPDX-License-Identifier: Apache-2.0 */
/* See stream_strings.h. */
#include "stream_strings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *text_at(const struct stream_strings *strings, uint32_t position)
{
	return strings->texts.data + strings->offsets[position];
}

static bool text_is_equal(const void *context, uint32_t position, const void *wanted)
{
	return strcmp(text_at(context, position), wanted) == 0;
}

static bool add(struct stream_strings *strings, const char *text)
{
	if (strings->count == strings->capacity) {
		size_t capacity = strings->capacity ? 2 * strings->capacity : 256;
		size_t *larger = realloc(strings->offsets, capacity * sizeof *larger);
		if (!larger)
			return false;
		strings->offsets = larger;
		strings->capacity = capacity;
	}
	strings->offsets[strings->count++] = strings->texts.size;
	text_append(&strings->texts, text, strlen(text) + 1);
	text_append_format(&strings->new_lines, "string\t%zu\t", strings->count);
	text_append_string(&strings->new_lines, text);
	text_append_string(&strings->new_lines, "\n");
	return !strings->texts.failed && !strings->new_lines.failed && strings->count < UINT32_MAX;
}

static uint32_t find(struct stream_strings *strings, const char *text)
{
	struct item_owner owner = { text_is_equal, strings };
	uint32_t *slot = item_index_find(&strings->index, &owner, hash_text(text), text);
	if (slot && *slot)
		return *slot;
	if (!slot || !add(strings, text)) {
		strings->failed = true;
		return STREAM_UNKNOWN;
	}
	strings->index.used++;
	return *slot = (uint32_t)strings->count;
}

uint32_t stream_strings_id(struct stream_strings *strings, const struct text *text)
{
	char *copy = text->failed ? NULL : strndup(text->size ? text->data : "", text->size);
	uint32_t id = STREAM_UNKNOWN;
	if (!copy)
		strings->failed = true;
	else if (!strings->failed && *copy)
		id = find(strings, copy);
	free(copy);
	return id;
}

void stream_strings_free(struct stream_strings *strings)
{
	text_free(&strings->texts);
	text_free(&strings->new_lines);
	free(strings->offsets);
	free(strings->index.slots);
	*strings = (struct stream_strings){ 0 };
}
