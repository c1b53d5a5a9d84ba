/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of one kernel over time, and which stacks are behind what it did in an interval. */
#ifndef IAPROF_CORE_CORRELATOR_LAUNCHES_H
#define IAPROF_CORE_CORRELATOR_LAUNCHES_H

#include "correlator/kernels.h"

/* Launches of one kernel that are told apart; many are merged: the older half, by stack. */
#define LAUNCHES_MAX 4096

/* False when out of memory. *merged grows by the launches that are not told apart any more. */
bool launches_add(struct kernel *kernel, const struct kernel_launches *launches, uint64_t *merged);
/* Whether it was launched before a time, at most so long (ns). */
bool launches_were_before(const struct kernel *kernel, uint64_t time, uint64_t within);
/* Fills the kernel's shares. */
void launches_share(struct kernel *kernel, uint64_t begin, uint64_t end);

#endif
