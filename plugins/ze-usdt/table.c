/* SPDX-License-Identifier: Apache-2.0 */
/* See table.h. Linear probing; at least a quarter of the slots is free. */
#include <stdlib.h>
#include "hash/keyed_hash.h"
#include "table.h"

#define CAPACITY_MIN 64u

static size_t slot_find(const struct table *table, uint64_t key)
{
	size_t index = hash_u64(key) & (table->capacity - 1);

	while (table->slots[index].value && table->slots[index].key != key)
		index = (index + 1) & (table->capacity - 1);
	return index;
}

void *table_find(const struct table *table, uint64_t key)
{
	return table->capacity ? table->slots[slot_find(table, key)].value : NULL;
}

static bool table_grow(struct table *table)
{
	struct table larger = { .capacity = table->capacity ? table->capacity * 2 : CAPACITY_MIN,
				.count = table->count };
	larger.slots = calloc(larger.capacity, sizeof *larger.slots);
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < table->capacity; i++)
		if (table->slots[i].value)
			larger.slots[slot_find(&larger, table->slots[i].key)] = table->slots[i];
	free(table->slots);
	*table = larger;
	return true;
}

bool table_add(struct table *table, uint64_t key, void *value)
{
	if ((table->count + 1) * 4 > table->capacity * 3 && !table_grow(table))
		return false;
	table->slots[slot_find(table, key)] = (struct table_slot){ .key = key, .value = value };
	table->count++;
	return true;
}

/* Frees a slot and moves up those behind it that could not be at their place because of it. */
static void slot_clear(struct table *table, size_t hole)
{
	size_t mask = table->capacity - 1;

	for (size_t next = (hole + 1) & mask; table->slots[next].value; next = (next + 1) & mask) {
		size_t home = hash_u64(table->slots[next].key) & mask;
		if (((next - home) & mask) >= ((next - hole) & mask)) {
			table->slots[hole] = table->slots[next];
			hole = next;
		}
	}
	table->slots[hole].value = NULL;
	table->count--;
}

void *table_take(struct table *table, uint64_t key)
{
	if (!table->capacity)
		return NULL;
	size_t index = slot_find(table, key);
	void *value = table->slots[index].value;
	if (value)
		slot_clear(table, index);
	return value;
}

void table_sweep(struct table *table, bool (*leave)(void *value, void *context), void *context)
{
	for (size_t i = 0; i < table->capacity; i++) {
		/* What moves into the slot is looked at in its turn. */
		while (table->slots[i].value) {
			if (!leave)
				free(table->slots[i].value);
			else if (!leave(table->slots[i].value, context))
				break;
			slot_clear(table, i);
		}
	}
}

void table_free(struct table *table)
{
	table_sweep(table, NULL, NULL);
	free(table->slots);
	*table = (struct table){ 0 };
}
