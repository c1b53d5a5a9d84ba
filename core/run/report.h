/* SPDX-License-Identifier: Apache-2.0 */
/* What iaprof says on standard error about a run: the status line while it goes on, the summary at its end. */
#ifndef IAPROF_CORE_RUN_REPORT_H
#define IAPROF_CORE_RUN_REPORT_H

#include <stdint.h>

#include "run/collecting.h"

/* Our own cost: CPU time of the process at a moment. */
struct own_cost {
	uint64_t cpu;   /* ns, user and system */
	uint64_t clock; /* CLOCK_MONOTONIC */
};
struct own_cost own_cost_now(void);

/* What the status showed last; {0} at first. */
struct status {
	uint64_t elapsed;
	struct call_families calls;
};

/* "12.0 s  1187 samples  0 lost": the status of a running profile. Above it a table of the calls since the last time.
 */
void report_status(struct status *last, uint64_t elapsed, const struct collecting_progress *progress);

/* begin and end: our cost when the sources started and after they stopped. */
void report_summary(const struct collecting_result *result, struct own_cost begin, struct own_cost end, bool replays);

#endif
