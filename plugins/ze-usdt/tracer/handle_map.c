/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing; what is removed leaves no mark, as what follows it moves up. */
#include "handle_map.h"

#include <stdlib.h>

#define BITS_MIN 6

static size_t slot_of(const struct handle_map *map, uintptr_t handle)
{
	return (size_t)((handle * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - map->bits));
}

static size_t slot_after(const struct handle_map *map, size_t slot)
{
	return (slot + 1) & (((size_t)1 << map->bits) - 1);
}

/* The handle's slot, or the empty one where it belongs. */
static size_t slot_find(const struct handle_map *map, uintptr_t handle)
{
	size_t slot = slot_of(map, handle);

	while (map->slots[slot].handle && map->slots[slot].handle != handle)
		slot = slot_after(map, slot);
	return slot;
}

void *handle_map_get(const struct handle_map *map, uintptr_t handle)
{
	return map->count && handle ? map->slots[slot_find(map, handle)].value : NULL;
}

static bool grow(struct handle_map *map)
{
	struct handle_map larger = { .bits = map->slots ? map->bits + 1 : BITS_MIN };

	larger.slots = calloc((size_t)1 << larger.bits, sizeof *larger.slots);
	if (!larger.slots)
		return false;
	for (size_t i = 0; map->slots && i < (size_t)1 << map->bits; i++)
		if (map->slots[i].handle)
			larger.slots[slot_find(&larger, map->slots[i].handle)] = map->slots[i];
	larger.count = map->count;
	free(map->slots);
	*map = larger;
	return true;
}

bool handle_map_add(struct handle_map *map, uintptr_t handle, void *value)
{
	/* At most half full, so that a search is short and ends. */
	if ((!map->slots || map->count >= (size_t)1 << (map->bits - 1)) && !grow(map))
		return false;
	map->slots[slot_find(map, handle)] = (struct handle_map_slot){ handle, value };
	map->count++;
	return true;
}

void *handle_map_remove(struct handle_map *map, uintptr_t handle)
{
	if (!handle_map_get(map, handle))
		return NULL;
	size_t hole = slot_find(map, handle);
	void *value = map->slots[hole].value;

	for (size_t slot = slot_after(map, hole); map->slots[slot].handle; slot = slot_after(map, slot)) {
		size_t mask = ((size_t)1 << map->bits) - 1, home = slot_of(map, map->slots[slot].handle);

		/* It may move when the hole is on its way from home to where it is. */
		if (((slot - home) & mask) >= ((slot - hole) & mask)) {
			map->slots[hole] = map->slots[slot];
			hole = slot;
		}
	}
	map->slots[hole] = (struct handle_map_slot){ 0 };
	map->count--;
	return value;
}
