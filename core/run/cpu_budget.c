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
	*budget = (struct cpu_budget){
		.share = share, .stride = 1, .wait = CPU_BUDGET_WAIT, .dependent = 1, .pauses = CPU_BUDGET_PAUSE
	};
}

static uint32_t twice(uint32_t wait)
{
	return 2 * wait < CPU_BUDGET_WAIT_MAX ? 2 * wait : CPU_BUDGET_WAIT_MAX;
}

static void pause(struct cpu_budget *budget)
{
	budget->pause = budget->pauses;
	budget->pauses = twice(budget->pauses);
}

double cpu_budget_dependent(double before, double now, uint32_t tried, uint32_t stride)
{
	double part = before > 0 ? (1 - now / before) / (1 - (double)tried / stride) : 0;
	return part < 0 ? 0 : part > 1 ? 1 : part;
}

/*
 * Learns from longer strides what depends on them, once there is nothing more to gain. Returns false if they neither
 * held the budget nor saved half of what samples cost, and were undone.
 */
static bool judge(struct cpu_budget *budget, const struct cpu_budget_cost *cost, uint32_t longest)
{
	uint32_t tried = budget->tried;
	bool is_held = cost->all <= budget->share;
	if (!tried || (!is_held && budget->stride < longest && cost->samples > CPU_BUDGET_NOTICEABLE * cost->all))
		return true;
	budget->tried = 0;
	budget->dependent = cpu_budget_dependent(budget->before, cost->samples, tried, budget->stride);
	if (!is_held && cost->samples > budget->before / 2) {
		budget->stride = tried;
		pause(budget);
		return false;
	}
	/* Of what is left. */
	double shrunk = budget->dependent * (double)tried / budget->stride;
	budget->dependent = shrunk / (1 - budget->dependent + shrunk);
	return true;
}

/* Returns the stride with which samples cost no more than is needed, or hardly anything. */
static uint32_t longer(const struct cpu_budget *budget, const struct cpu_budget_cost *cost, uint32_t longest)
{
	double samples = budget->dependent * cost->samples;
	double left = AIM * budget->share - (cost->all - samples);
	double least = CPU_BUDGET_NOTICEABLE * cost->all;
	double factor = samples / (left > least ? left : least);
	double wanted = budget->stride * (factor < FACTOR_MAX ? factor : FACTOR_MAX);
	uint32_t next = wanted < longest ? (uint32_t)wanted : longest;
	return next > budget->stride || budget->stride == longest ? next : budget->stride + 1;
}

static void lengthen(struct cpu_budget *budget, const struct cpu_budget_cost *cost, uint32_t longest)
{
	if (!budget->tried) {
		budget->tried = budget->stride;
		budget->before = cost->samples;
	}
	budget->stride = longer(budget, cost, longest);
}

static enum cpu_budget_change lower(struct cpu_budget *budget, const struct cpu_budget_cost *cost, uint32_t longest)
{
	double noticeable = CPU_BUDGET_NOTICEABLE * cost->all;
	if (budget->has_raised)
		budget->wait = twice(budget->wait);
	budget->has_raised = false;
	budget->calm = 0;
	if (budget->pause && !--budget->pause)
		budget->dependent = 1; /* the load may be another one */
	if (!budget->saves_events && !budget->needs_events && cost->events > noticeable)
		budget->saves_events = true;
	else if (!budget->saves_tables && cost->tables > noticeable)
		budget->saves_tables = true;
	else if (budget->stride < longest && !budget->pause && budget->dependent * cost->samples > noticeable)
		lengthen(budget, cost, longest);
	else
		budget->is_exceeded = true;
	if (budget->is_exceeded && !budget->pause && budget->stride < longest)
		pause(budget);
	return budget->is_exceeded ? CPU_BUDGET_KEPT : CPU_BUDGET_LOWERED;
}

/* Returns the shortest stride with which the cost is expected to be within the aim. */
static uint32_t shorter(const struct cpu_budget *budget, const struct cpu_budget_cost *cost)
{
	double room = AIM * budget->share - cost->all, samples = budget->dependent * cost->samples;
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

static enum cpu_budget_change step(struct cpu_budget *budget, const struct cpu_budget_cost *cost, uint32_t longest,
				   bool has_fallen)
{
	if (!judge(budget, cost, longest)) {
		budget->is_exceeded = true;
		return CPU_BUDGET_RAISED;
	}
	if (cost->all > budget->share)
		return lower(budget, cost, longest);
	if (has_fallen) {
		budget->wait = 1;
		budget->pauses = CPU_BUDGET_PAUSE;
	}
	bool is_whole = budget->stride == 1 && !budget->saves_tables && !budget->saves_events;
	if (cost->all > CALM * budget->share || is_whole)
		return CPU_BUDGET_KEPT;
	return ++budget->calm < budget->wait ? CPU_BUDGET_KEPT : raise(budget, cost);
}

enum cpu_budget_change cpu_budget_step(struct cpu_budget *budget, const struct cpu_budget_cost *cost, uint32_t longest)
{
	bool has_fallen = !budget->has_lowered && 2 * cost->all < budget->used;
	budget->used = cost->all;
	budget->is_exceeded = false;
	if (budget->share <= 0)
		return CPU_BUDGET_KEPT;
	enum cpu_budget_change change = step(budget, cost, longest, has_fallen);
	budget->has_lowered = change == CPU_BUDGET_LOWERED;
	return change;
}
