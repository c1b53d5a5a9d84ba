/* SPDX-License-Identifier: Apache-2.0 */
/* Flame graph pages of ranges of the ring, made by iaprof as a child process with limits. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "text/text.h"

/* Limits: processes at a time, seconds, bytes of the page, and of the process's memory. */
#define FLAMEGRAPH_PROCESSES_MAX 2
#define FLAMEGRAPH_SECONDS_MAX 120u
#define FLAMEGRAPH_SIZE_MAX ((size_t)64 << 20)
#define FLAMEGRAPH_MEMORY_MAX ((size_t)2 << 30)

struct flamegraph {
	const char *program; /* path of iaprof */
	const char *folder;  /* absolute path of the ring */
	int stop;            /* descriptor that becomes readable when the server ends */
	atomic_int running;  /* processes */
};

/* CLOCK_REALTIME ms. */
struct flamegraph_range {
	uint64_t from, to;
};

/*
 * Finds out whether the ring has data in a range. Returns 0; -ENODATA with one line in why; or another negative errno:
 * the folder cannot be read.
 */
int flamegraph_check(const struct flamegraph *flamegraph, const struct flamegraph_range *range, struct text *why);

/*
 * Appends the page of a range; with a baseline, that of its difference to it. Returns 0; -EBUSY: too many at a time; or
 * another negative errno with one line in why.
 */
int flamegraph_append(struct flamegraph *flamegraph, const struct flamegraph_range *range,
		      const struct flamegraph_range *baseline, struct text *page, struct text *why);
