/* SPDX-License-Identifier: Apache-2.0 */
/* See string_table.h. */
#include "base/string_table.h"

#include <errno.h>
#include <string.h>

/* Limit on ids beyond twice the number of known texts, because damaged files must not cause large allocations. */
#define FOREIGN_ID_GAP_MAX 65536

void string_table_free(struct string_table *table)
{
	arena_free(&table->memory);
	array_free(&table->entries);
	hash_index_free(&table->index);
}

static uint32_t find_text(const struct string_table *table, uint64_t hash, const char *text, size_t length)
{
	hash_index_each (probe, &table->index, hash) {
		const struct string_entry *candidate = &table->entries.items[probe.position];
		if (candidate->length == length && !memcmp(candidate->text, text, length))
			return probe.position + 1;
	}
	return 0;
}

/* Allocates entries for an id and all lower ones. */
static bool make_room(struct string_table *table, uint32_t id)
{
	if (!array_reserve(&table->entries, id))
		return false;
	while (table->entries.count < id)
		table->entries.items[table->entries.count++] = (struct string_entry){ 0 };
	return true;
}

static int store_text(struct string_table *table, uint32_t id, uint64_t hash, const char *text, size_t length)
{
	char *copy = arena_text(&table->memory, text, length);
	if (!copy || !make_room(table, id))
		return -ENOMEM;
	struct string_entry *entry = &table->entries.items[id - 1];
	*entry = (struct string_entry){ .text = copy, .length = (uint32_t)length };
	if (!hash_index_add(&table->index, hash, id - 1)) {
		*entry = (struct string_entry){ 0 };
		return -ENOMEM;
	}
	return 0;
}

uint32_t string_table_find(const struct string_table *table, const char *text, size_t length)
{
	return find_text(table, hash_bytes(text, length), text, length);
}

uint32_t string_table_add(struct string_table *table, const char *text, size_t length, bool *is_new)
{
	uint64_t hash = hash_bytes(text, length);
	if (is_new)
		*is_new = false;
	uint32_t id = find_text(table, hash, text, length);
	if (id)
		return id;
	if (table->entries.count >= HASH_REMOVED - 1)
		return 0;
	id = (uint32_t)table->entries.count + 1;
	if (store_text(table, id, hash, text, length))
		return 0;
	if (is_new)
		*is_new = true;
	return id;
}

const char *string_table_intern(struct string_table *table, const char *text, size_t length)
{
	uint32_t id = string_table_add(table, text, length, NULL);
	return id ? table->entries.items[id - 1].text : NULL;
}

int string_table_define(struct string_table *table, uint32_t id, const char *text, size_t length)
{
	if (id == 0 || id > 2 * table->index.count + FOREIGN_ID_GAP_MAX)
		return -EINVAL;
	if (id <= table->entries.count && table->entries.items[id - 1].text) {
		const struct string_entry *known = &table->entries.items[id - 1];
		return known->length == length && !memcmp(known->text, text, length) ? 0 : -EINVAL;
	}
	/*
	 * A second id for the same text, as in a damaged file, is not indexed: many items with the same hash would slow
	 * down searches.
	 */
	uint64_t hash = hash_bytes(text, length);
	uint32_t first = find_text(table, hash, text, length);
	if (!first)
		return store_text(table, id, hash, text, length);
	if (!make_room(table, id))
		return -ENOMEM;
	table->entries.items[id - 1] = table->entries.items[first - 1];
	return 0;
}
