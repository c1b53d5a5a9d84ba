/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds a run within a share of the machine's CPU time (--budget): after each interval it decides whether process
 * events are followed and new unwind tables are made, and of how many samples sources take one (the stride). Knows
 * neither clocks nor processes.
 *
 * Above the budget, it gives up what the profile loses least by, of what has a noticeable cost: process events first,
 * which are then read from /proc for processes that are sampled; then new unwind tables; and the rate at last. What of
 * the cost of samples depends on the rate shows when the rate changes: a lowest rate that neither holds the budget nor
 * saves half of it is undone, and tried again later. Within the budget, the rate comes back first. A change that turns
 * out to be too much is undone, and the wait before the next attempt doubles, so that the rate settles for a steady
 * load; once the cost has fallen by half, the load has changed, and the wait is forgotten.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Intervals within the budget before something is taken back. */
#define CPU_BUDGET_WAIT 2u
#define CPU_BUDGET_WAIT_MAX 48u
/* Intervals before the rate is lowered again after that had saved too little. */
#define CPU_BUDGET_PAUSE 8u
/* Smallest share of the cost that is worth giving something up. */
#define CPU_BUDGET_NOTICEABLE 0.1

/* CPU time in an interval, as shares of the CPU time of all CPUs. */
struct cpu_budget_cost {
	double all;
	double samples; /* BPF programs and what is done with samples: a part of it depends on the rate */
	double events;  /* of process events */
	double tables;  /* of unwind tables */
};

struct cpu_budget {
	double share;           /* of the CPU time of all CPUs, 0 to 1; 0: no budget */
	uint32_t stride;        /* sources take one of so many samples, at least 1 */
	bool saves_tables;      /* no new unwind tables are made */
	bool saves_events;      /* process events are not followed */
	bool needs_events;      /* they have to be followed anyway; set by the caller */
	bool is_exceeded;       /* the last interval exceeded it, and giving up more would save nothing noticeable */
	double used;            /* share in the last interval */
	uint32_t calm, wait;    /* intervals within the budget since the last change, and those before the next one */
	bool has_lowered;       /* the last interval began with less */
	bool has_raised;        /* the last change took something back */
	double dependent;       /* part of the cost of samples that depends on the rate, as far as is known; 0 to 1 */
	uint32_t tried;         /* the stride before longer ones are tried; 0: none is */
	double before;          /* what samples cost then */
	uint32_t pause, pauses; /* intervals before a longer one is tried again, now and after the next undoing */
};

void cpu_budget_init(struct cpu_budget *budget, double share);

/*
 * Returns the part of a cost that depends on the rate, 0 to 1, from what it was at two strides, of which tried is the
 * shorter one.
 */
double cpu_budget_dependent(double before, double now, uint32_t tried, uint32_t stride);

enum cpu_budget_change { CPU_BUDGET_KEPT, CPU_BUDGET_LOWERED, CPU_BUDGET_RAISED };

/* Takes the cost of an interval, and the longest stride that sources accept. */
enum cpu_budget_change cpu_budget_step(struct cpu_budget *budget, const struct cpu_budget_cost *cost, uint32_t longest);
