/* SPDX-License-Identifier: Apache-2.0 */
/* Growable arrays: ARRAY(struct mapping) mappings = {0}; then array_push(&mappings, value) and mappings.items[i]. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY(type)                                                                                                    \
	struct {                                                                                                       \
		type *items;                                                                                           \
		size_t count;                                                                                          \
		size_t capacity;                                                                                       \
	}

/* Makes room for wanted items, at least doubling; false if out of memory (the array is unchanged). */
static inline bool array_grow(void **items, size_t *capacity, size_t wanted, size_t item_size)
{
	if (wanted <= *capacity)
		return true;
	size_t larger = *capacity ? *capacity * 2 : 8;
	if (larger < wanted)
		larger = wanted;
	if (larger > SIZE_MAX / item_size)
		return false;
	void *moved = realloc(*items, larger * item_size);
	if (!moved)
		return false;
	*items = moved;
	*capacity = larger;
	return true;
}

#define array_reserve(array, wanted)                                                                                   \
	array_grow((void **)&(array)->items, &(array)->capacity, (wanted), sizeof *(array)->items)

/* Returns the end of the items. An empty array may have no items, to which nothing can be added, not even 0. */
#define array_end(array) ((array)->count ? (array)->items + (array)->count : (array)->items)

/* Appends a value; false if out of memory. */
#define array_push(array, value)                                                                                       \
	(array_reserve((array), (array)->count + 1) && ((array)->items[(array)->count++] = (value), true))

static inline bool array_extend_to(void **items, size_t *count, size_t *capacity, size_t wanted, size_t item_size)
{
	if (wanted <= *count)
		return true;
	if (!array_grow(items, capacity, wanted, item_size))
		return false;
	memset((char *)*items + *count * item_size, 0, (wanted - *count) * item_size);
	*count = wanted;
	return true;
}

/* Appends zeroed items until there are at least wanted; false if out of memory. */
#define array_extend(array, wanted)                                                                                    \
	array_extend_to((void **)&(array)->items, &(array)->count, &(array)->capacity, (wanted), sizeof *(array)->items)

/*
 * Binary search: returns the first position, from 0 to count, for which is_before, an expression that uses position, is
 * false. It must be true for all positions before that one, and false from there on.
 *
 *     size_t first = array_lower_bound(ranges.count, position, ranges.items[position].end <= address);
 */
#define array_lower_bound(count, position, is_before)                                                                  \
	({                                                                                                             \
		size_t low_ = 0, high_ = (count);                                                                      \
		while (low_ < high_) {                                                                                 \
			size_t position = low_ + (high_ - low_) / 2;                                                   \
			if (is_before)                                                                                 \
				low_ = position + 1;                                                                   \
			else                                                                                           \
				high_ = position;                                                                      \
		}                                                                                                      \
		low_;                                                                                                  \
	})

/*
 * Arrays whose positions are reused: free_positions is an ARRAY(uint32_t) of the free ones. Returns a position for one
 * more item, which the caller sets; POSITION_NONE if out of memory. The memory to return the position later is
 * allocated at the same time, so that array_give_back() cannot fail.
 */
#define POSITION_NONE UINT32_MAX
#define array_take(array, free_positions)                                                                              \
	((free_positions)->count ? (free_positions)->items[--(free_positions)->count]                                  \
	 : (array)->count < POSITION_NONE - 1 && array_reserve((free_positions), (array)->count + 1) &&                \
			 array_reserve((array), (array)->count + 1)                                                    \
		 ? (uint32_t)(array)->count++                                                                          \
		 : POSITION_NONE)
#define array_give_back(free_positions, position)                                                                      \
	((void)((free_positions)->items[(free_positions)->count++] = (position)))

#define array_free(array)                                                                                              \
	do {                                                                                                           \
		free((array)->items);                                                                                  \
		(array)->items = NULL;                                                                                 \
		(array)->count = (array)->capacity = 0;                                                                \
	} while (0)
