/* SPDX-License-Identifier: Apache-2.0 */
/* The hash index: see hash.h. */
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

void hash_index_free(struct hash_index *index)
{
	free(index->slots);
	*index = (struct hash_index){ 0 };
}

static void place(struct hash_slot *slots, size_t slot_count, uint64_t hash, uint32_t position)
{
	size_t slot = (size_t)hash & (slot_count - 1);
	while (slots[slot].position != HASH_EMPTY && slots[slot].position != HASH_REMOVED)
		slot = (slot + 1) & (slot_count - 1);
	slots[slot] = (struct hash_slot){ .hash = (uint32_t)(hash >> 32), .position = position };
}

bool hash_index_add(struct hash_index *index, uint64_t hash, uint32_t position,
		    uint64_t (*rehash)(const void *context, uint32_t position), const void *context)
{
	if ((index->used + 1) * 4 > index->slot_count * 3) {
		/* Grow only when it is items that fill the table; else the same size again clears the removed marks. */
		size_t larger = index->slot_count ? index->slot_count : 32;
		while ((index->count + 1) * 2 > larger)
			larger *= 2;
		struct hash_slot *slots = malloc(larger * sizeof *slots);
		if (!slots)
			return false;
		memset(slots, 0xff, larger * sizeof *slots);
		for (size_t i = 0; i < index->slot_count; i++)
			if (index->slots[i].position < HASH_REMOVED)
				place(slots, larger, rehash(context, index->slots[i].position),
				      index->slots[i].position);
		free(index->slots);
		index->slots = slots;
		index->slot_count = larger;
		index->used = index->count;
	}
	place(index->slots, index->slot_count, hash, position);
	index->used++;
	index->count++;
	return true;
}

void hash_index_remove(struct hash_index *index, uint64_t hash, uint32_t position)
{
	if (!index->slot_count)
		return;
	for (size_t slot = (size_t)hash & (index->slot_count - 1); index->slots[slot].position != HASH_EMPTY;
	     slot = (slot + 1) & (index->slot_count - 1))
		if (index->slots[slot].position == position) {
			index->slots[slot].position = HASH_REMOVED;
			index->count--;
			return;
		}
}
