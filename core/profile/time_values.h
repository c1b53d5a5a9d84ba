/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values with the times at which they were added, as lists: for sums that wait for their stack's names. Lists are the
 * owner's, by the position of their newest element; all go at once. Belongs to the collector's thread.
 */
#ifndef IAPROF_CORE_PROFILE_TIME_VALUES_H
#define IAPROF_CORE_PROFILE_TIME_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

#define TIME_VALUE_NONE UINT32_MAX

/* More than this many, and the owner should give them all on. */
#define TIME_VALUES_MANY (UINT32_C(1) << 18)

struct time_value {
	uint64_t begin, end; /* both included */
	uint64_t value, count;
	uint32_t next; /* TIME_VALUE_NONE: the oldest one */
	uint32_t pad;
};

/* Initialise with {0} and the first. */
struct time_values {
	uint64_t resolution; /* ns: times are not told apart any finer; 0: nobody asks for times */
	ARRAY(struct time_value) items;
};

void time_values_free(struct time_values *values);
/* Forgets all lists. */
void time_values_clear(struct time_values *values);

/* Adds to a list, whose newest element *list is: to that one if it is of the same time. False: out of memory. */
bool time_values_add(struct time_values *values, uint32_t *list, uint64_t begin, uint64_t end, uint64_t value,
		     uint64_t count);

#endif
