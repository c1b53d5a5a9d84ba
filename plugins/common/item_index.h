/* SPDX-License-Identifier: Apache-2.0 */
/* An index by hash over items that somebody else keeps in an array: finds the position of one that is equal. */
#ifndef IAPROF_PLUGINS_COMMON_ITEM_INDEX_H
#define IAPROF_PLUGINS_COMMON_ITEM_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash/keyed_hash.h"

struct item_slot {
	uint32_t item; /* 1 + position, 0: free */
	uint32_t hash; /* its lower half */
};

/* Initialise with {0}; free(slots). Open addressing, at most half full. */
struct item_index {
	struct item_slot *slots;
	size_t size; /* a power of 2, or 0 */
	size_t used;
	struct hash_key key; /* of item_index_key() */
};

/* What the owner of the items knows. Wanted is what item_index_find() was given. */
struct item_owner {
	bool (*is_equal)(const void *context, uint32_t position, const void *wanted);
	const void *context;
};

/* For owners that hash words: hash_word() and others with this key. */
static inline const struct hash_key *item_index_key(struct item_index *index)
{
	if (!index->size)
		hash_key_make(&index->key);
	return &index->key;
}

/*
 * Where 1 plus the position of the item is that is equal to wanted; or a free place, for 1 plus the position of a new
 * one, when used is to be counted up. hash: of wanted, by a function of hash/keyed_hash.h. NULL: out of memory. Good
 * until the next call.
 */
uint32_t *item_index_find(struct item_index *index, const struct item_owner *owner, uint64_t hash, const void *wanted);

#endif
