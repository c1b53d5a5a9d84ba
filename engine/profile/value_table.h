/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by (stack, value type), of the interval and of the whole run. Owned by the collector thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/keyed_array.h"
#include "base/saturating.h"

struct value_sum {
	uint64_t value, count;
};

struct value_entry {
	struct {
		uint32_t stack;      /* index of a resolved stack */
		uint32_t value_type; /* index of a value type */
	} key;
	struct value_sum total;
	struct value_sum interval;
};

/* Initialise with {0}. */
struct value_table {
	KEYED_ARRAY(struct value_entry) entries;
};

void value_table_free(struct value_table *table);

/* Adds to a pair's sums. Returns false when out of memory. Sums saturate at UINT64_MAX. */
bool value_table_add(struct value_table *table, uint32_t stack, uint32_t value_type, uint64_t value, uint64_t count);

/* Forgets everything, totals included. */
static inline void value_table_clear(struct value_table *table)
{
	keyed_array_free(&table->entries);
}
/* Begins a new interval by resetting its sums to zero. */
void value_table_begin_interval(struct value_table *table);
