/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays whose items are found by their key, through a hash index. The first member of an item is named key; keys have
 * no padding, because they are hashed and compared as bytes.
 *
 *     KEYED_ARRAY(struct image) images = {0};
 *     uint32_t position = keyed_array_find(&images, &(struct image_key){ .process = 7 });
 *
 * The macros of base/array.h can be used for the items, but not to add or remove one.
 */
#pragma once

#include <string.h>

#include "base/array.h"
#include "base/hash.h"

#define KEYED_ARRAY(type)                                                                                              \
	struct {                                                                                                       \
		type *items;                                                                                           \
		size_t count;                                                                                          \
		size_t capacity;                                                                                       \
		struct hash_index index;                                                                               \
	}

static inline uint32_t keyed_items_find(const struct hash_index *index, const void *items, size_t item_size,
					uint64_t hash, const void *key, size_t key_size)
{
	for (struct hash_probe probe = hash_index_probe(index, hash); hash_index_next(index, &probe);)
		if (!memcmp((const char *)items + probe.position * item_size, key, key_size))
			return probe.position;
	return POSITION_NONE;
}

#define KEYED_ARRAY_HASH(wanted) hash_bytes((wanted), sizeof *(wanted))

/* Returns the position of the item with the key *wanted, or POSITION_NONE. */
#define keyed_array_find(array, wanted)                                                                                \
	keyed_items_find(&(array)->index, (array)->items, sizeof *(array)->items, KEYED_ARRAY_HASH(wanted),            \
			 true ? (wanted) : &(array)->items->key, sizeof *(wanted))

/* Returns the item with the key *wanted, or NULL. */
#define keyed_array_get(array, wanted)                                                                                 \
	({                                                                                                             \
		uint32_t found_ = keyed_array_find((array), (wanted));                                                 \
		found_ == POSITION_NONE ? NULL : &(array)->items[found_];                                              \
	})

/*
 * Returns the position of the item with the same key as *added; if there is none, appends a copy of *added. Returns
 * POSITION_NONE if out of memory.
 */
#define keyed_array_add(array, added)                                                                                  \
	({                                                                                                             \
		const __typeof__(*(array)->items) *added_ = (added);                                                   \
		uint64_t hash_ = KEYED_ARRAY_HASH(&added_->key);                                                       \
		uint32_t position_ = keyed_items_find(&(array)->index, (array)->items, sizeof *added_, hash_,          \
						      &added_->key, sizeof added_->key);                               \
		if (position_ == POSITION_NONE && hash_index_push(&(array)->index, hash_, (array), *added_))           \
			position_ = (uint32_t)(array)->count - 1;                                                      \
		position_;                                                                                             \
	})

/* Updates the index after the item at from, which has this hash, has moved to another position. */
static inline void keyed_items_moved(struct hash_index *index, uint64_t hash, uint32_t from, uint32_t to)
{
	size_t slot = (uint32_t)hash & (index->slot_count - 1);
	while (index->slots[slot].position != from)
		slot = (slot + 1) & (index->slot_count - 1);
	index->slots[slot].position = to;
}

/* Removes an item; the last one takes its place. */
#define keyed_array_remove(array, position)                                                                            \
	({                                                                                                             \
		uint32_t removed_ = (position), last_ = (uint32_t)(array)->count - 1;                                  \
		hash_index_remove(&(array)->index, KEYED_ARRAY_HASH(&(array)->items[removed_].key), removed_);         \
		if (removed_ != last_) {                                                                               \
			keyed_items_moved(&(array)->index, KEYED_ARRAY_HASH(&(array)->items[last_].key), last_,        \
					  removed_);                                                                   \
			(array)->items[removed_] = (array)->items[last_];                                              \
		}                                                                                                      \
		(array)->count = last_;                                                                                \
	})

/*
 * For arrays whose positions are reused (array_take() in base/array.h): adds a copy of *added, whose key is new, and
 * returns its position; POSITION_NONE if out of memory.
 */
#define keyed_array_take(array, free_positions, added)                                                                 \
	({                                                                                                             \
		const __typeof__(*(array)->items) *added_ = (added);                                                   \
		uint32_t position_ = array_take((array), (free_positions));                                            \
		if (position_ != POSITION_NONE)                                                                        \
			(array)->items[position_] = *added_;                                                           \
		if (position_ != POSITION_NONE &&                                                                      \
		    !hash_index_add(&(array)->index, KEYED_ARRAY_HASH(&added_->key), position_)) {                     \
			(array)->items[position_] = (__typeof__(*(array)->items)){ 0 };                                \
			array_give_back((free_positions), position_);                                                  \
			position_ = POSITION_NONE;                                                                     \
		}                                                                                                      \
		position_;                                                                                             \
	})
/* Removes an item: zeroes it and marks its position as free. */
#define keyed_array_give_back(array, free_positions, position)                                                         \
	({                                                                                                             \
		uint32_t given_ = (position);                                                                          \
		hash_index_remove(&(array)->index, KEYED_ARRAY_HASH(&(array)->items[given_].key), given_);             \
		(array)->items[given_] = (__typeof__(*(array)->items)){ 0 };                                           \
		array_give_back((free_positions), given_);                                                             \
	})

#define keyed_array_free(array)                                                                                        \
	do {                                                                                                           \
		array_free(array);                                                                                     \
		hash_index_free(&(array)->index);                                                                      \
	} while (0)
