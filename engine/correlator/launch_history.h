/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of one kernel over time, and the stacks responsible for its work in an interval. */
#pragma once

#include "base/clock.h"
#include "correlator/kernels.h"

/* A kernel launched longer than this before an interval is assumed to have ended. */
#define LAUNCH_RUNS_FOR (10 * NANOSECONDS_PER_SECOND)

/* Limit on separate launches per kernel; beyond it, the older half is merged by stack. */
#define LAUNCHES_MAX 4096

/* Returns false when out of memory. Adds the number of merged launches to *merged. */
bool launch_history_add(struct kernel *kernel, const struct kernel_launches *launches, uint64_t *merged);
/* Returns whether the kernel was launched before a time, at most within ns earlier, in the life of its code. */
bool launch_history_were_before(const struct kernel *kernel, uint64_t time, uint64_t within, struct code_life life);
/* Fills the kernel's shares, and their span. */
void launch_history_share(struct kernel *kernel, uint64_t begin, uint64_t end, struct code_life life);
