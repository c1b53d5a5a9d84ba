/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address ranges in a sorted array, searched for the innermost one around an address. Add all, then sort and link, then
 * find. Ranges may nest; of two that overlap without nesting, the one that starts later wins in its part.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_RANGE_TABLE_H
#define IAPROF_CORE_SYMBOLIZER_RANGE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/array.h"

#define RANGE_NONE UINT32_MAX

struct range {
	uint64_t start, end; /* [start, end) */
	uint32_t value;      /* the owner's */
	uint32_t enclosing;  /* position of the nearest range before this one that reaches past its start, or RANGE_NONE
			      */
};

/* Initialise with {0}. */
struct range_table {
	struct range *items;
	size_t count;
	size_t capacity;
};

/* False when out of memory, or when there are too many to number. */
static inline bool range_table_add(struct range_table *table, uint64_t start, uint64_t end, uint32_t value)
{
	struct range range = { .start = start, .end = end, .value = value, .enclosing = RANGE_NONE };
	return table->count < RANGE_NONE && array_push(table, range);
}

/* By start; of the same start the longer one first; of the same range the lower value first. */
void range_table_sort(struct range_table *table);
/* After sorting (and after the owner changed what it wanted): makes ready for range_table_find(), returns spare memory.
 */
void range_table_link(struct range_table *table);
/* The innermost range that holds address, or NULL. */
const struct range *range_table_find(const struct range_table *table, uint64_t address);

static inline void range_table_free(struct range_table *table)
{
	array_free(table);
}

#endif
