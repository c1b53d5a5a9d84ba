/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time-resolved values of the profile: sums by time slot, stack and value type. The slot width is doubled whenever
 * there are too many sums, so that memory does not grow with the length of the run. Owned by the collector thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "base/array.h"
#include "base/hash.h"

/* Number of sums above which slots become wider, unless that does not help. */
#define TIME_SUMS_MAX (UINT32_C(1) << 20)

/* Limit on slots per value; a longer value is divided among wider slots, of which the first one has it. */
#define TIME_SLOTS_OF_VALUE_MAX 64

/*
 * The same for samples of devices, which sources may read once in seconds: a constant load must not appear as peaks.
 * There are no more of these values than samples, other than of waits in nanoseconds.
 */
#define TIME_SLOTS_OF_SAMPLES_MAX 4096

/* Sums of one width. Initialise with {0}. */
struct time_sums {
	ARRAY(struct iaprof_time_value) items; /* time: the number of the slot, counted from 0 */
	struct hash_index index;
	unsigned doublings; /* number of times that the width was doubled */
	uint32_t limit;     /* 0: TIME_SUMS_MAX */
};

/* Initialise with {0} and the first. */
struct time_table {
	uint64_t resolution; /* width of the finest slots in ns, 0: no times requested */
	struct time_sums stacks;
	struct time_sums totals;       /* sums over all stacks, by value type */
	ARRAY(uint64_t) added_up_over; /* by value type: longest time over which the source aggregated values, ns */
	uint64_t phase;                /* of rounding, another one for each value */
	uint64_t out_of_memory;        /* values */
};

void time_table_free(struct time_table *table);

/* Forgets all sums; slots have their finest width again. */
void time_table_clear(struct time_table *table);

/* Adds a value of a stack within [begin, end), or at one time if they are equal; begin 0: not known, adds nothing. */
void time_table_add(struct time_table *table, uint32_t stack, uint32_t value_type, uint64_t begin, uint64_t end,
		    uint64_t value);
/* Likewise for samples of a device. */
void time_table_add_samples(struct time_table *table, uint32_t stack, uint32_t value_type, uint64_t begin, uint64_t end,
			    uint64_t value);

/* Returns the current width of slots, in ns. */
static inline uint64_t time_sums_width(const struct time_table *table, const struct time_sums *sums)
{
	return table->resolution << sums->doublings;
}
