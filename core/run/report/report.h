/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of a run on standard error: the status line while it is active, and the summary at its end. */
#pragma once

#include <stdint.h>

#include "run/collector_thread.h"
#include "run/decoders.h"

/* CPU time that iaprof and its helper processes had used at some time. */
struct own_cost {
	uint64_t cpu;   /* ns, user and system */
	uint64_t clock; /* CLOCK_MONOTONIC */
};
/* helpers: CPU time of the helper processes, ns; 0 before they start. */
struct own_cost own_cost_now(uint64_t helpers);

struct run_cost {
	struct own_cost begin, end; /* when the sources started, and after they stopped */
	uint64_t earlier;           /* ns of CPU time that the process used before the run */
	uint64_t total;             /* ns of CPU time from then on */
};

/* The most recently printed status; {0} at first. */
struct status {
	uint64_t elapsed;
	struct call_families calls;
};

/* Prints "12.0 s  1187 samples  0 lost" below a table of the calls since the last status. */
void report_status(struct status *last, uint64_t elapsed, const struct collector_thread_progress *progress);

void report_summary(const struct collector_thread_result *result, const struct run_cost *cost, bool replays);

/* Prints one line for each machine whose code had no decoder, with what is missing for that reason. */
void report_missing_decoders(const struct decoders *decoders);
