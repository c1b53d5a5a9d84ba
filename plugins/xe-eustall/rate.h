/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling rate: which one the user asked for, and rate=auto, which begins with the slowest and becomes faster as
 * long as nothing overflows and reading the rows costs no more than the budget.
 */
#ifndef IAPROF_XE_EUSTALL_RATE_H
#define IAPROF_XE_EUSTALL_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "query.h"

struct rate_choice {
	bool automatic;
	uint32_t cycles; /* 0: the device's slowest */
};

/* Of the option's text, NULL when there is none: a number, "auto" or "slowest". 0 or -EINVAL. */
int rate_choice_parse(const char *text, struct rate_choice *choice);

/* "0.1%" or "0.1", both percent, above 0 and at most 100. 0 or -EINVAL. */
int rate_budget_parse(const char *text, double *share);

/* The position in eu_stall->rates to begin with, or -ENOENT. */
int rate_choice_find(const struct rate_choice *choice, const struct query_eu_stall *eu_stall);

/* "251, 502, 753", cut to size. */
void rate_list_format(const struct query_eu_stall *eu_stall, char *text, size_t size);

/* How long nothing may have overflowed before a faster rate is tried. */
#define RATE_QUIET UINT64_C(3000000000) /* ns */

/* How long no faster rate is tried after one that cost too much: twice as long each time, up to the second. ns */
#define RATE_RETRY UINT64_C(60000000000)
#define RATE_RETRY_MAX UINT64_C(3600000000000)

/* What rate=auto remembers of a GT. */
struct rate_control {
	size_t position;     /* in the rates, ascending: 0 is the fastest */
	size_t fastest;      /* no faster one is tried: it overflowed */
	uint64_t since;      /* when the rate was set, or something was too much, ns */
	uint64_t retry;      /* no faster one is tried before: the last one cost too much */
	uint64_t retry_wait; /* how long that was; 0: it did not happen */
};

void rate_control_init(struct rate_control *control, size_t position, uint64_t now);

/*
 * What to do now: overflowed since the last call, and which share of a CPU reading this GT's rows took since then.
 * Returns the position of the rate to use, which may be the same.
 */
size_t rate_control_next(struct rate_control *control, const struct query_eu_stall *eu_stall, uint64_t now,
			 bool overflowed, double share, double budget);

#endif
