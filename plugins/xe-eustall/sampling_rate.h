/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampling rates: parsing rate=, and rate=auto, which starts with the slowest rate and raises it while nothing
 * overflows and reading rows stays within the budget.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "query.h"

struct rate_choice {
	bool automatic;
	uint32_t cycles; /* 0: the device's slowest */
};

/* Parses the option's text (NULL: default): a number, "auto" or "slowest". Returns 0 or -EINVAL. */
int rate_choice_parse(const char *text, struct rate_choice *choice);

/* Parses "0.1%" or "0.1", both percent, above 0 and at most 100. Returns 0 or -EINVAL. */
int rate_budget_parse(const char *text, double *share);

/* Returns the initial index in eu_stall->rates, or -ENOENT. */
int rate_choice_find(const struct rate_choice *choice, const struct query_eu_stall *eu_stall);

/* Writes "251, 502, 753", truncated to size. */
void rate_list_format(const struct query_eu_stall *eu_stall, char *text, size_t size);

/* Time without overflow before a faster rate is tried. */
#define RATE_QUIET UINT64_C(3000000000) /* ns */

/* Time before a faster rate is retried after one that was too expensive; doubles each time, up to the maximum. ns */
#define RATE_RETRY UINT64_C(60000000000)
#define RATE_RETRY_MAX UINT64_C(3600000000000)

/* The state of rate=auto for a GT. */
struct rate_control {
	size_t position;     /* index in the rates, ascending: 0 is the fastest */
	size_t fastest;      /* fastest index to use: faster ones overflowed */
	uint64_t since;      /* when the rate was set, or last exceeded a limit, ns */
	uint64_t retry;      /* no faster rate is tried before: the last one was too expensive */
	uint64_t retry_wait; /* last wait for a retry; 0: none yet */
};

void rate_control_init(struct rate_control *control, size_t position, uint64_t now);

/*
 * Chooses the rate: overflowed since the last call, and the share of a CPU used for reading this GT's rows since then.
 * Returns the index of the rate to use.
 */
size_t rate_control_next(struct rate_control *control, const struct query_eu_stall *eu_stall, uint64_t now,
			 bool overflowed, double share, double budget);
