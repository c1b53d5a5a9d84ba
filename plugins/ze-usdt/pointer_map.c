/* SPDX-License-Identifier: Apache-2.0 */
/* See pointer_map.h. Linear probing, at most three quarters full. */
#include <stdlib.h>
#include "pointer_map.h"

#define CAPACITY_MIN 64u

static size_t slot_find(const struct pointer_map *table, uint64_t key)
{
	size_t index = pointer_map_hash(key) & (table->capacity - 1);

	while (table->slots[index].value && table->slots[index].key != key)
		index = (index + 1) & (table->capacity - 1);
	return index;
}

void *pointer_map_find(const struct pointer_map *table, uint64_t key)
{
	return table->capacity ? table->slots[slot_find(table, key)].value : NULL;
}

static bool pointer_map_grow(struct pointer_map *table)
{
	struct pointer_map larger = { .capacity = table->capacity ? table->capacity * 2 : CAPACITY_MIN,
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

bool pointer_map_add(struct pointer_map *table, uint64_t key, void *value)
{
	if ((table->count + 1) * 4 > table->capacity * 3 && !pointer_map_grow(table))
		return false;
	table->slots[slot_find(table, key)] = (struct pointer_map_slot){ .key = key, .value = value };
	table->count++;
	return true;
}

/* Frees a slot and moves up the entries behind it that it had displaced. */
static void slot_clear(struct pointer_map *table, size_t hole)
{
	size_t mask = table->capacity - 1;

	for (size_t next = (hole + 1) & mask; table->slots[next].value; next = (next + 1) & mask) {
		size_t home = pointer_map_hash(table->slots[next].key) & mask;
		if (((next - home) & mask) >= ((next - hole) & mask)) {
			table->slots[hole] = table->slots[next];
			hole = next;
		}
	}
	table->slots[hole].value = NULL;
	table->count--;
}

void *pointer_map_remove(struct pointer_map *table, uint64_t key)
{
	if (!table->capacity)
		return NULL;
	size_t index = slot_find(table, key);
	void *value = table->slots[index].value;
	if (value)
		slot_clear(table, index);
	return value;
}

void pointer_map_sweep(struct pointer_map *table, bool (*is_removed)(void *value, void *context), void *context)
{
	for (size_t i = 0; i < table->capacity; i++) {
		/* An entry that moves into the slot is checked as well. */
		while (table->slots[i].value) {
			if (!is_removed)
				free(table->slots[i].value);
			else if (!is_removed(table->slots[i].value, context))
				break;
			slot_clear(table, i);
		}
	}
}

void pointer_map_free(struct pointer_map *table)
{
	pointer_map_sweep(table, NULL, NULL);
	free(table->slots);
	*table = (struct pointer_map){ 0 };
}
