/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash index: finds the position of an item in the caller's array by the item's hash. It stores (hash, position)
 * pairs in an open-addressing table with linear probing; the caller owns the items and compares them.
 *
 *     hash_index_each (probe, &index, hash)
 *             if (equal(items[probe.position], wanted))
 *                     return probe.position;
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/keyed_hash.h"

struct hash_slot {
	uint32_t hash;     /* lower half of the hash, which determines the slot */
	uint32_t position; /* HASH_EMPTY, HASH_REMOVED, or the item's position */
};

#define HASH_EMPTY UINT32_MAX
#define HASH_REMOVED (UINT32_MAX - 1)

/* Initialise with {0}. */
struct hash_index {
	struct hash_slot *slots;
	size_t slot_count; /* a power of 2, or 0 */
	size_t used;       /* slots with an item or a removed mark */
	size_t count;      /* items */
};

struct hash_probe {
	size_t slot;
	uint32_t hash;
	uint32_t position; /* position of the candidate that hash_index_next() found */
};

void hash_index_free(struct hash_index *index);

/* Starts a search for items with this hash. */
static inline struct hash_probe hash_index_probe(const struct hash_index *index, uint64_t hash)
{
	return (struct hash_probe){ .slot = index->slot_count ? (uint32_t)hash & (index->slot_count - 1) : 0,
				    .hash = (uint32_t)hash };
}

/* Advances to the next candidate. Returns false if there is none. */
static inline bool hash_index_next(const struct hash_index *index, struct hash_probe *probe)
{
	if (!index->slot_count)
		return false;
	for (;;) {
		const struct hash_slot *slot = &index->slots[probe->slot];
		if (slot->position == HASH_EMPTY)
			return false;
		probe->slot = (probe->slot + 1) & (index->slot_count - 1);
		if (slot->hash == probe->hash && slot->position != HASH_REMOVED) {
			probe->position = slot->position;
			return true;
		}
	}
}

/* Visits the candidates for a hash: probe.position is that of an item. */
#define hash_index_each(probe, index, hash)                                                                            \
	for (struct hash_probe probe = hash_index_probe((index), (hash)); hash_index_next((index), &probe);)

/* Adds an item. Returns false if out of memory; the index is then unchanged. */
bool hash_index_add(struct hash_index *index, uint64_t hash, uint32_t position);

/* Appends a value to the array of the items and adds it. Returns false if out of memory; both are then unchanged. */
#define hash_index_push(index, hash, array, value)                                                                     \
	(array_push((array), (value)) &&                                                                               \
	 (hash_index_add((index), (hash), (uint32_t)(array)->count - 1) || ((array)->count--, false)))

/* Removes the item at position, which was added with this hash. */
void hash_index_remove(struct hash_index *index, uint64_t hash, uint32_t position);
