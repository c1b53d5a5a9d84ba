/* SPDX-License-Identifier: Apache-2.0 */
/* See cpu_budget.h. */
#include "run/cpu_budget.h"

/* Largest factor by which one interval raises the stride: its cost may be an exception. */
#define FACTOR_MAX 4.0
/* Shares of the budget: a cost that is lower allows a higher rate; one that changes aim at. */
#define CALM 0.9
#define AIM 0.8

void cpu_budget_init(struct cpu_budget *budget, double share)
{
	*budget = (struct cpu_budget){ .share = share, .stride = 1, .wait = CPU_BUDGET_WAIT };
}

/* Returns the stride with which samples cost no more than is needed, or hardly anything. */
static uint32_t longer(const struct cpu_budget *budget, const struct cpu_budget_cost *cost, uint32_t longest)
{
	double left = AIM * budget->share - (cost->all - cost->samples);
	double least = CPU_BUDGET_NOTICEABLE * cost->all;
	double factor = cost->samples / (left > least ? left : least);
	double wanted = budget->stride * (factor < FACTOR_MAX ? factor : FACTOR_MAX);
	uint32_t next = wanted < longest ? (uint32_t)wanted : longest;
	return next > budget->stride || budget->stride == longest ? next : budget->stride + 1;
}

static enum cpu_budget_change lower(struct cpu_budget *budget, const struct cpu_budget_cost *cost, uint32_t longest)
{
	double noticeable = CPU_BUDGET_NOTICEABLE * cost->all;
	if (budget->has_raised)
		budget->wait = 2 * budget->wait < CPU_BUDGET_WAIT_MAX ? 2 * budget->wait : CPU_BUDGET_WAIT_MAX;
	budget->has_raised = false;
	budget->calm = 0;
	if (!budget->saves_events && !budget->needs_events && cost->events > noticeable)
		budget->saves_events = true;
	else if (!budget->saves_tables && cost->tables > noticeable)
		budget->saves_tables = true;
	else if (budget->stride < longest && cost->samples > noticeable)
		budget->stride = longer(budget, cost, longest);
	else
		budget->is_exceeded = true;
	return budget->is_exceeded ? CPU_BUDGET_KEPT : CPU_BUDGET_LOWERED;
}

/* Returns the shortest stride with which the cost is expected to be within the aim. */
static uint32_t shorter(const struct cpu_budget *budget, const struct cpu_budget_cost *cost)
{
	double room = AIM * budget->share - cost->all, samples = cost->samples;
	if (room <= 0 || samples <= 0)
		return room <= 0 ? budget->stride : 1;
	double next = budget->stride * samples / (samples + room);
	uint32_t whole = (uint32_t)next + (next > (uint32_t)next);
	return whole ? whole : 1;
}

/* Takes back what the cost leaves room for. Returns whether there is something. */
static bool take_back(struct cpu_budget *budget, const struct cpu_budget_cost *cost)
{
	uint32_t stride = shorter(budget, cost);
	/* The load has gone. */
	bool is_ample = cost->all * 2 < AIM * budget->share, saves = budget->saves_tables || budget->saves_events;
	if (stride == budget->stride && !saves)
		return false;
	if (is_ample)
		budget->saves_tables = budget->saves_events = false;
	else if (stride == budget->stride && budget->saves_tables)
		budget->saves_tables = false;
	else if (stride == budget->stride)
		budget->saves_events = false;
	budget->stride = stride;
	return true;
}

static enum cpu_budget_change raise(struct cpu_budget *budget, const struct cpu_budget_cost *cost)
{
	if (!take_back(budget, cost))
		return CPU_BUDGET_KEPT;
	if (budget->has_raised) /* the last one was right */
		budget->wait = budget->wait / 2 > CPU_BUDGET_WAIT ? budget->wait / 2 : CPU_BUDGET_WAIT;
	budget->has_raised = true;
	budget->calm = 0;
	return CPU_BUDGET_RAISED;
}

enum cpu_budget_change cpu_budget_step(struct cpu_budget *budget, const struct cpu_budget_cost *cost, uint32_t longest)
{
	budget->used = cost->all;
	budget->is_exceeded = false;
	if (budget->share <= 0)
		return CPU_BUDGET_KEPT;
	if (cost->all > budget->share)
		return lower(budget, cost, longest);
	bool is_whole = budget->stride == 1 && !budget->saves_tables && !budget->saves_events;
	if (cost->all > CALM * budget->share || is_whole)
		return CPU_BUDGET_KEPT;
	return ++budget->calm < budget->wait ? CPU_BUDGET_KEPT : raise(budget, cost);
}
