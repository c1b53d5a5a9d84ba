/* SPDX-License-Identifier: Apache-2.0 */
/* Growable arrays: ARRAY(struct mapping) mappings = {0}; then array_push(&mappings, value) and mappings.items[i]. */
#ifndef IAPROF_CORE_BASE_ARRAY_H
#define IAPROF_CORE_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define ARRAY(type)                                                                                                    \
	struct {                                                                                                       \
		type *items;                                                                                           \
		size_t count;                                                                                          \
		size_t capacity;                                                                                       \
	}

/* Room for wanted items, at least doubling; false when out of memory (the array is unchanged). */
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

/* Appends a value; false when out of memory. */
#define array_push(array, value)                                                                                       \
	(array_reserve((array), (array)->count + 1) && ((array)->items[(array)->count++] = (value), true))

/*
 * Arrays whose positions are used again: free_positions is an ARRAY(uint32_t) of those that are free. Gives a position
 * for one more item, which the caller sets; POSITION_NONE when out of memory. Room to give it back is made at the same
 * time, so that array_give_back() cannot fail.
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

#endif
