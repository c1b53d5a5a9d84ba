/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds a run within a share of the machine's CPU time (--budget): after each interval it decides of how many samples
 * sources take one (the stride), and whether unwind tables are made and process events followed. Knows neither clocks
 * nor processes.
 *
 * A cost above the budget lowers the rate at once, in proportion. A cost well below it raises the rate after some
 * intervals, by a third at least. A rate that turns out to be too high is lowered again, and the wait before the next
 * attempt doubles, so that the rate settles for a steady load.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Intervals within the budget before the rate is raised. */
#define CPU_BUDGET_WAIT 3u
#define CPU_BUDGET_WAIT_MAX 48u

struct cpu_budget {
	double share;        /* of the CPU time of all CPUs, 0 to 1; 0: no budget */
	uint32_t stride;     /* sources take one of so many samples, at least 1 */
	bool saves_tables;   /* no new unwind tables are made, because the lowest rate exceeds the budget */
	bool saves_events;   /* process events are not followed, because that is still too much */
	bool needs_events;   /* they have to be followed anyway; set by the caller */
	bool is_exceeded;    /* the last interval exceeded it, and nothing is left to lower */
	double used;         /* share in the last interval */
	uint32_t calm, wait; /* intervals within the budget since the last change, and those before the next raise */
	bool has_raised;     /* the last change raised the rate */
};

void cpu_budget_init(struct cpu_budget *budget, double share);

enum cpu_budget_change { CPU_BUDGET_KEPT, CPU_BUDGET_LOWERED, CPU_BUDGET_RAISED };

/* Takes the cost of an interval, as a share, and the longest stride that sources accept. */
enum cpu_budget_change cpu_budget_step(struct cpu_budget *budget, double used, uint32_t longest);
