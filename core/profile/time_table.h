/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When values were added to the profile: sums by slot of time, stack and value type. Slots become twice as wide
 * whenever there are too many sums, so that memory does not grow with the length of the run. Belongs to the
 * collector's thread.
 */
#ifndef IAPROF_CORE_PROFILE_TIME_TABLE_H
#define IAPROF_CORE_PROFILE_TIME_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "base/array.h"
#include "base/hash.h"

/* More sums than this, and slots become wider, unless it does not help. */
#define TIME_SUMS_MAX (UINT32_C(1) << 20)

/* A value that took longer than this many slots is divided among as many wider ones. */
#define TIME_SLOTS_OF_VALUE_MAX 64

/* Sums of one width. Initialise with {0}. */
struct time_sums {
	ARRAY(struct iaprof_time_value) items; /* time: the number of the slot, counted from 0 */
	struct hash_index index;
	unsigned doublings; /* of the width */
	uint32_t limit;     /* 0: TIME_SUMS_MAX */
};

/* Initialise with {0} and the first. */
struct time_table {
	uint64_t resolution; /* ns of the finest slots, 0: nobody asks for times */
	struct time_sums stacks;
	struct time_sums totals;       /* of all stacks, by value type */
	ARRAY(uint64_t) added_up_over; /* by value type: ns */
	uint64_t out_of_memory;        /* values */
};

void time_table_free(struct time_table *table);

/* Adds what a stack got from a time to before another one, or at one time; begin 0: not known, which adds nothing. */
void time_table_add(struct time_table *table, uint32_t stack, uint32_t value_type, uint64_t begin, uint64_t end,
		    uint64_t value);

/* The width of slots now, in ns. */
static inline uint64_t time_sums_width(const struct time_table *table, const struct time_sums *sums)
{
	return table->resolution << sums->doublings;
}

#endif
