/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The times at which one engine had a job. The time of a job that has ended is what earlier ones do not already have,
 * so that jobs that wait for each other share the engine's time. Bounded; one thread.
 */
#pragma once

#include <stdint.h>

/* Intervals without a job between them. Earlier ones are only summed: jobs in flight for so long are rare. */
#define BUSY_INTERVALS 64u
/* Engines whose times are kept: the NPU has one, and older drivers have another one for copies. */
#define BUSY_ENGINES 4u

/* Initialise with {0}. */
struct busy_times {
	struct {
		uint64_t begin, end;
	} intervals[BUSY_INTERVALS]; /* disjoint, in order */
	uint32_t count;
	uint64_t summed;       /* ns of earlier intervals */
	uint64_t summed_until; /* the end of the last of them */
};

/* Adds a job that was on the engine from begin to end (ns). Returns the part of it in which no job was added before. */
uint64_t busy_times_add(struct busy_times *times, uint64_t begin, uint64_t end);

/* Returns the time (ns) at which there was a job. */
uint64_t busy_times_total(const struct busy_times *times);
