/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time and memory of iaprof and of its helper processes. */
#pragma once

#include <stdint.h>

struct own_cost {
	uint64_t cpu, helper_cpu;       /* ns */
	uint64_t memory, helper_memory; /* resident bytes; 0: not known */
	double start_time;              /* CLOCK_REALTIME seconds */
};

/*
 * Reads the cost so far. cost: what was read before, {0} at first; the time of helpers never decreases. command: pid of
 * the command that iaprof runs, which is no helper; 0: none.
 */
void own_cost_update(struct own_cost *cost, uint32_t command);
