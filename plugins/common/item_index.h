/* SPDX-License-Identifier: Apache-2.0 */
/* An index by hash over items that somebody else keeps in an array: finds the position of one that is equal. */
#ifndef IAPROF_PLUGINS_COMMON_ITEM_INDEX_H
#define IAPROF_PLUGINS_COMMON_ITEM_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Initialise with {0}; free(items). Open addressing, at most half full. */
struct item_index {
	uint32_t *items; /* 1 + position, 0: free */
	size_t size;     /* a power of 2, or 0 */
	size_t used;
};

/* What the owner of the items knows. Wanted is what item_index_find() was given. */
struct item_owner {
	uint64_t (*hash)(const void *context, uint32_t position);
	bool (*is_equal)(const void *context, uint32_t position, const void *wanted);
	const void *context;
};

/* A hash of several numbers: begin with any. */
static inline uint64_t item_hash(uint64_t hash, uint64_t number)
{
	hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}
uint64_t item_hash_text(uint64_t hash, const char *text); /* NULL is a text of its own */

/*
 * The slot of the item that is equal to wanted, whose hash is given; or the free one where its position, plus 1, has to
 * be put, and used counted up. NULL: out of memory. Good until the next call.
 */
uint32_t *item_index_find(struct item_index *index, const struct item_owner *owner, uint64_t hash, const void *wanted);

#endif
