/* SPDX-License-Identifier: Apache-2.0 */
/* See hash.h. */
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

void hash_index_free(struct hash_index *index)
{
	free(index->slots);
	*index = (struct hash_index){ 0 };
}

static void place(struct hash_slot *slots, size_t slot_count, struct hash_slot item)
{
	size_t slot = item.hash & (slot_count - 1);
	while (slots[slot].position < HASH_REMOVED)
		slot = (slot + 1) & (slot_count - 1);
	slots[slot] = item;
}

bool hash_index_add(struct hash_index *index, uint64_t hash, uint32_t position)
{
	if ((index->used + 1) * 4 > index->slot_count * 3) {
		/* Grow only if items fill the table; otherwise, a rehash at the same size removes the removed marks. */
		size_t larger = index->slot_count ? index->slot_count : 32;
		while ((index->count + 1) * 2 > larger)
			larger *= 2;
		struct hash_slot *slots = malloc(larger * sizeof *slots);
		if (!slots)
			return false;
		memset(slots, 0xff, larger * sizeof *slots);
		for (size_t i = 0; i < index->slot_count; i++)
			if (index->slots[i].position < HASH_REMOVED)
				place(slots, larger, index->slots[i]);
		free(index->slots);
		index->slots = slots;
		index->slot_count = larger;
		index->used = index->count;
	}
	place(index->slots, index->slot_count, (struct hash_slot){ .hash = (uint32_t)hash, .position = position });
	index->used++;
	index->count++;
	return true;
}

void hash_index_remove(struct hash_index *index, uint64_t hash, uint32_t position)
{
	if (!index->slot_count)
		return;
	for (size_t slot = (uint32_t)hash & (index->slot_count - 1); index->slots[slot].position != HASH_EMPTY;
	     slot = (slot + 1) & (index->slot_count - 1))
		if (index->slots[slot].position == position) {
			index->slots[slot].position = HASH_REMOVED;
			index->count--;
			return;
		}
}
