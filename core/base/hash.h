/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash index: finds the position of an item in somebody's array by the item's hash. It stores (hash, position) pairs
 * in an open-addressing table with linear probing; the owner keeps the items and compares them.
 *
 *     for (struct hash_probe probe = hash_index_probe(&index, hash); hash_index_next(&index, &probe);)
 *             if (equal(items[probe.position], wanted))
 *                     return probe.position;
 */
#ifndef IAPROF_CORE_BASE_HASH_H
#define IAPROF_CORE_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash/keyed_hash.h"

struct hash_slot {
	uint32_t hash;     /* the upper half of the hash */
	uint32_t position; /* HASH_EMPTY, HASH_REMOVED, or the item's position */
};

#define HASH_EMPTY UINT32_MAX
#define HASH_REMOVED (UINT32_MAX - 1)

/* Initialise with {0}. */
struct hash_index {
	struct hash_slot *slots;
	size_t slot_count; /* a power of two, or 0 */
	size_t used;       /* slots with an item or a removed mark */
	size_t count;      /* items */
};

struct hash_probe {
	size_t slot;
	uint32_t hash;
	uint32_t position; /* of the candidate that hash_index_next() found */
};

void hash_index_free(struct hash_index *index);

/* Starts a search for items with this hash. */
static inline struct hash_probe hash_index_probe(const struct hash_index *index, uint64_t hash)
{
	return (struct hash_probe){ .slot = index->slot_count ? (size_t)hash & (index->slot_count - 1) : 0,
				    .hash = (uint32_t)(hash >> 32) };
}

/* The next candidate; false when there is none left. */
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

/*
 * Adds an item. When the table grows, rehash(context, position) gives an item's full 64-bit hash again. False when out
 * of memory: nothing changed.
 */
bool hash_index_add(struct hash_index *index, uint64_t hash, uint32_t position,
		    uint64_t (*rehash)(const void *context, uint32_t position), const void *context);

/* Removes the item at position, which was added with this hash. */
void hash_index_remove(struct hash_index *index, uint64_t hash, uint32_t position);

#endif
