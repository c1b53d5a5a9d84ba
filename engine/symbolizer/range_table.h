/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address ranges in a sorted array, which finds the innermost range around an address. Add all ranges, sort and link,
 * then search. Ranges may nest; if two overlap without nesting, the one that starts later wins where they overlap.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/array.h"

#define RANGE_NONE UINT32_MAX

struct range {
	uint64_t start, end; /* [start, end) */
	uint32_t value;      /* defined by the owner */
	uint32_t enclosing;  /* position of the nearest earlier range that extends past its start, or RANGE_NONE */
};

/* Initialise with {0}. */
struct range_table {
	struct range *items;
	size_t count;
	size_t capacity;
};

/* Returns false if out of memory, or if there are too many ranges. */
static inline bool range_table_add(struct range_table *table, uint64_t start, uint64_t end, uint32_t value)
{
	struct range range = { .start = start, .end = end, .value = value, .enclosing = RANGE_NONE };
	return table->count < RANGE_NONE && array_push(table, range);
}

/* Sorts by start; ranges with the same start by descending length, equal ranges by value. */
void range_table_sort(struct range_table *table);
/* Prepares a sorted table for range_table_find(), and returns spare memory. */
void range_table_link(struct range_table *table);
/* Returns the innermost range that contains address, or NULL. */
const struct range *range_table_find(const struct range_table *table, uint64_t address);

static inline void range_table_free(struct range_table *table)
{
	array_free(table);
}
