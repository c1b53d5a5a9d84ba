/* SPDX-License-Identifier: Apache-2.0 */
/* See cpu_budget.h. */
#include "run/cpu_budget.h"

/* Largest factor by which one interval changes the stride: its cost may be an exception. */
#define FACTOR_MAX 4.0
/* Shares of the budget: a cost that is lower allows a higher rate; one that changes aim at. */
#define CALM 0.9
#define AIM 0.8

void cpu_budget_init(struct cpu_budget *budget, double share)
{
	*budget = (struct cpu_budget){ .share = share, .stride = 1, .wait = CPU_BUDGET_WAIT };
}

static enum cpu_budget_change lower(struct cpu_budget *budget, uint32_t longest)
{
	double factor = budget->used / budget->share;
	if (budget->has_raised)
		budget->wait = 2 * budget->wait < CPU_BUDGET_WAIT_MAX ? 2 * budget->wait : CPU_BUDGET_WAIT_MAX;
	budget->has_raised = false;
	budget->calm = 0;
	if (budget->stride < longest) {
		double wanted = budget->stride * (factor < FACTOR_MAX * AIM ? factor / AIM : FACTOR_MAX);
		uint32_t next = wanted < longest ? (uint32_t)wanted : longest;
		budget->stride = next > budget->stride ? next : budget->stride + 1;
		return CPU_BUDGET_LOWERED;
	}
	if (!budget->saves_tables) {
		budget->saves_tables = true;
		return CPU_BUDGET_LOWERED;
	}
	budget->is_exceeded = budget->saves_events || budget->needs_events;
	if (budget->is_exceeded)
		return CPU_BUDGET_KEPT;
	budget->saves_events = true;
	return CPU_BUDGET_LOWERED;
}

/* Returns the next shorter stride: three quarters, or a half if the cost leaves so much room. */
static uint32_t shorter(const struct cpu_budget *budget)
{
	uint32_t half = (budget->stride + 1) / 2, next = budget->stride - (budget->stride + 3) / 4;
	return budget->used * 2 < AIM * budget->share && half < next ? half : next ? next : 1;
}

static enum cpu_budget_change raise(struct cpu_budget *budget)
{
	if (budget->has_raised) /* the last raise was right */
		budget->wait = budget->wait / 2 > CPU_BUDGET_WAIT ? budget->wait / 2 : CPU_BUDGET_WAIT;
	budget->has_raised = true;
	budget->calm = 0;
	if (budget->saves_events)
		budget->saves_events = false;
	else if (budget->saves_tables)
		budget->saves_tables = false;
	else
		budget->stride = shorter(budget);
	return CPU_BUDGET_RAISED;
}

enum cpu_budget_change cpu_budget_step(struct cpu_budget *budget, double used, uint32_t longest)
{
	budget->used = used;
	budget->is_exceeded = false;
	if (budget->share <= 0)
		return CPU_BUDGET_KEPT;
	if (used > budget->share)
		return lower(budget, longest);
	bool is_calm = used <= CALM * budget->share;
	if (!is_calm || (budget->stride == 1 && !budget->saves_tables))
		return CPU_BUDGET_KEPT;
	return ++budget->calm < budget->wait ? CPU_BUDGET_KEPT : raise(budget);
}
