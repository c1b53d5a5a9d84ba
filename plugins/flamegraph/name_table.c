/* SPDX-License-Identifier: Apache-2.0 */
/* See name_table.h. */
#include "name_table.h"

#include <stdlib.h>
#include <string.h>

static bool is_equal(const void *context, uint32_t position, const void *wanted)
{
	return strcmp(((const struct name_table *)context)->items[position].name, wanted) == 0;
}

static uint32_t *slot_of(struct name_table *table, const char *name)
{
	const struct item_owner owner = { .is_equal = is_equal, .context = table };
	return item_index_find(&table->index, &owner, hash_text(name), name);
}

uint32_t name_table_add(struct name_table *table, const char *name)
{
	uint32_t *slot = slot_of(table, name);
	if (!slot || *slot)
		return slot ? *slot - 1 : NAME_NONE;
	if (table->count == table->capacity) {
		size_t capacity = table->capacity ? 2 * table->capacity : 16;
		struct named *items = realloc(table->items, capacity * sizeof *items);
		if (!items)
			return NAME_NONE;
		table->items = items;
		table->capacity = capacity;
	}
	table->items[table->count++] = (struct named){ .name = name };
	*slot = (uint32_t)table->count;
	table->index.used++;
	return (uint32_t)table->count - 1;
}

void name_table_weigh(struct name_table *table, const char *name, uint64_t weight)
{
	uint32_t *slot = name ? slot_of(table, name) : NULL;
	if (!slot || !*slot)
		return;
	struct named *item = &table->items[*slot - 1];
	item->weight = item->weight + weight < weight ? UINT64_MAX : item->weight + weight;
}

void name_table_append(const struct name_table *table, struct text *text)
{
	text_append_string(text, "[");
	for (size_t i = 0; i < table->count; i++) {
		text_append_string(text, i ? "," : "");
		text_append_json(text, table->items[i].name);
	}
	text_append_string(text, "]");
}

void name_table_free(struct name_table *table)
{
	free(table->items);
	free(table->index.slots);
	*table = (struct name_table){ 0 };
}
