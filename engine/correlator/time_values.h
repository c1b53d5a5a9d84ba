/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of values with the times at which they were added, for sums whose stacks are not resolved yet. A list is
 * identified by the position of its newest element; all lists are removed together. Owned by the collector thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

#define TIME_VALUE_NONE UINT32_MAX

/* Number of values above which the owner should flush them all. */
#define TIME_VALUES_MANY (UINT32_C(1) << 18)

struct time_value {
	uint64_t begin, end; /* both inclusive */
	uint64_t value, count;
	uint32_t next; /* TIME_VALUE_NONE: the oldest one */
	uint32_t pad;
};

/* Initialise with {0} and the first. */
struct time_values {
	uint64_t resolution; /* resolution of times in ns; 0: no times requested */
	ARRAY(struct time_value) items;
};

void time_values_free(struct time_values *values);
/* Removes all lists. */
void time_values_clear(struct time_values *values);

/*
 * Adds a value to a list whose newest element is *list, merging it with that element if the time is the same. Returns
 * false when out of memory.
 */
bool time_values_add_at(struct time_values *values, uint32_t *list, uint64_t begin, uint64_t end, uint64_t value,
			uint64_t count);
static inline bool time_values_add(struct time_values *values, uint32_t *list, uint64_t begin, uint64_t end,
				   uint64_t value, uint64_t count)
{
	return !values->resolution || time_values_add_at(values, list, begin, end, value, count);
}
