/* SPDX-License-Identifier: Apache-2.0 */
/* A hash map from 64-bit keys to pointers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pointer_map_slot {
	uint64_t key;
	void *value; /* NULL: free */
};

/* Initialise with {0}. Values are owned by the caller. */
struct pointer_map {
	struct pointer_map_slot *slots;
	size_t capacity; /* a power of two, or 0 */
	size_t count;
};

/*
 * The hash depends on the program that links the map: the plugin uses a keyed one, because other processes choose the
 * keys; the tracer, which links to nothing, a plain one.
 */
uint64_t pointer_map_hash(uint64_t key);

/* Returns NULL if the key is not in the map. */
void *pointer_map_find(const struct pointer_map *table, uint64_t key);
/* Adds a new key. Returns false when out of memory. value must not be NULL. */
bool pointer_map_add(struct pointer_map *table, uint64_t key, void *value);
/* Removes a key and returns its value, or NULL. */
void *pointer_map_remove(struct pointer_map *table, uint64_t key);
/*
 * Removes every value for which is_removed() returns true, which then owns the value. It may be called twice for a
 * value that stays. NULL: frees all values with free().
 */
void pointer_map_sweep(struct pointer_map *table, bool (*is_removed)(void *value, void *context), void *context);
void pointer_map_free(struct pointer_map *table);
