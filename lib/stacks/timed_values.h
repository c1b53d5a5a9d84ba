/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a profile in chronological order, for formats whose samples have timestamps. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/option.h>
#include <iaprof/profile.h>

#include "base/array.h"

struct timed_value {
	uint64_t time;              /* start of the time slot, ns; without known times, the start of the profile */
	uint32_t stack, value_type; /* indexes */
	uint64_t value;
	uint64_t count; /* number of samples, in proportion to the value */
};

/* Sorted by value type and time; within a time slot, by frames. The sums of a stack are those of the profile. */
struct timed_values {
	ARRAY(struct timed_value) items;
	uint64_t width; /* of time slots, ns; 0: times are unknown */
};

/* Row of an option table that sets the resolution of times, a uint64_t MEMBER of the instance struct TYPE. */
#define TIMED_VALUES_OPTION(TYPE, MEMBER, DEFAULT)                                                                     \
	IAPROF_OPTION(TYPE, MEMBER, DURATION, "step", DEFAULT,                                                         \
		      "Time resolution of samples: those of a stack within this time are merged", .minimum = 1000000,  \
		      .maximum = 10000000000ull)

/*
 * step: least width of slots in ns, as passed to host->request_times(); those that another sink requested may be finer.
 * Returns false when out of memory. Call timed_values_free() in either case.
 */
bool timed_values_make(struct timed_values *values, const struct iaprof_profile *profile, uint64_t step);
void timed_values_free(struct timed_values *values);
