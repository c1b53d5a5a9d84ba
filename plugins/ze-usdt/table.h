/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from keys of 64 bits to pointers. */
#ifndef IAPROF_ZE_USDT_TABLE_H
#define IAPROF_ZE_USDT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_slot {
	uint64_t key;
	void *value; /* NULL: free */
};

/* Initialise with {0}. The values are their owner's. */
struct table {
	struct table_slot *slots;
	size_t capacity; /* a power of two, or 0 */
	size_t count;
};

/* NULL when it is not there. */
void *table_find(const struct table *table, uint64_t key);
/* Adds a key that is not there. False when out of memory. value is not NULL. */
bool table_add(struct table *table, uint64_t key, void *value);
/* Takes a key out and returns its value, NULL when it was not there. */
void *table_take(struct table *table, uint64_t key);
/*
 * Takes out every value that leave says, which owns it then: false keeps it. leave may be called twice for a value that
 * it keeps. NULL: all, with free().
 */
void table_sweep(struct table *table, bool (*leave)(void *value, void *context), void *context);
void table_free(struct table *table);

#endif
