/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks share: CPU time of this thread, and how a ratio is printed. None passes or fails on time. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/clock.h"

#define MEBIBYTE 1048576.0

/* Seconds of this thread's own CPU time since begin: what other programs on the machine do shows less in it. */
static inline double cpu_seconds_since(uint64_t begin)
{
	return (double)(clock_read(CLOCK_THREAD_CPUTIME_ID) - begin) / (double)NANOSECONDS_PER_SECOND;
}

/* Of several rounds the fastest measures the program best, and the slowest the machine's other work. */
struct rounds {
	unsigned count;
	double fastest, slowest;
};

static inline void rounds_add(struct rounds *rounds, double seconds)
{
	if (!rounds->count || seconds < rounds->fastest)
		rounds->fastest = seconds;
	if (!rounds->count || seconds > rounds->slowest)
		rounds->slowest = seconds;
	rounds->count++;
}

/* "bus: emit, take, recycle    31.2 million records/s (0.032 s; 5 rounds, up to 0.041 s)" */
static inline void rounds_print(const struct rounds *rounds, const char *what, double amount, const char *unit)
{
	printf("%-44s %10.1f %s/s (%.4f s; %u rounds, up to %.4f s)\n", what, amount / rounds->fastest, unit,
	       rounds->fastest, rounds->count, rounds->slowest);
}
