/* SPDX-License-Identifier: Apache-2.0 */
/* A hash index over items that its owner keeps in an array: finds the position of an equal item. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/keyed_hash.h"

struct item_slot {
	uint32_t item; /* position + 1; 0: free */
	uint32_t hash; /* its lower half */
};

/* Initialise with {0}; free(slots). Open addressing, at most half full. */
struct item_index {
	struct item_slot *slots;
	size_t size; /* a power of 2, or 0 */
	size_t used;
	struct hash_key key; /* result of item_index_key() */
};

/* Functions of the items' owner. wanted is the argument of item_index_find(). */
struct item_owner {
	bool (*is_equal)(const void *context, uint32_t position, const void *wanted);
	const void *context;
};

/* For owners that hash words: hash_word() and others, with this key. */
static inline const struct hash_key *item_index_key(struct item_index *index)
{
	if (!index->size)
		hash_key_make(&index->key);
	return &index->key;
}

/*
 * Returns the slot of the item that is equal to wanted, which contains the item's position + 1; or a free slot, which
 * the caller sets to the position + 1 of a new item, incrementing used. hash: of wanted, by a function of
 * base/keyed_hash.h. Returns NULL if out of memory. Valid until the next call.
 */
uint32_t *item_index_find(struct item_index *index, const struct item_owner *owner, uint64_t hash, const void *wanted);
