/* SPDX-License-Identifier: Apache-2.0 */
/* The budget of CPU time, held against simulated machines: their cost per interval follows from the rate. */
#include <check.h>

#include "run/cpu_budget.h"
#include "../run_suite.h"

#define LONGEST 19u /* of 19 Hz, 1 Hz remains */
#define SHARE 0.001

/* What an interval costs, in shares of the budget. */
struct machine {
	double fixed;    /* whatever the rate is */
	double sampling; /* at the full rate */
	double tables;   /* that of new unwind tables, of fixed */
	double events;   /* that of process events, of fixed */
};

static double cost(const struct machine *machine, const struct cpu_budget *budget)
{
	return SHARE * (machine->fixed - (budget->saves_tables ? machine->tables : 0) -
			(budget->saves_events ? machine->events : 0) + machine->sampling / budget->stride);
}

struct outcome {
	uint32_t changes, exceeding; /* intervals */
};

static struct outcome run_for(struct cpu_budget *budget, const struct machine *machine, uint32_t intervals)
{
	struct outcome outcome = { 0 };
	for (uint32_t i = 0; i < intervals; i++) {
		double used = cost(machine, budget);
		outcome.exceeding += used > SHARE;
		outcome.changes += cpu_budget_step(budget, used, LONGEST) != CPU_BUDGET_KEPT;
		ck_assert(budget->stride >= 1 && budget->stride <= LONGEST);
	}
	return outcome;
}

TEST(a_cheap_run_keeps_its_rate)
{
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	struct outcome outcome = run_for(&budget, &(struct machine){ .fixed = 0.3, .sampling = 0.69 }, 1000);
	ck_assert_uint_eq(outcome.changes, 0);
	ck_assert_uint_eq(budget.stride, 1);
	ck_assert(!budget.is_exceeded && !budget.saves_tables);
}

TEST(without_a_budget_nothing_is_lowered)
{
	struct cpu_budget budget;
	cpu_budget_init(&budget, 0);
	ck_assert_uint_eq(run_for(&budget, &(struct machine){ .fixed = 5000, .sampling = 5000 }, 100).changes, 0);
	ck_assert_uint_eq(budget.stride, 1);
}

/* From 0.6 + 3.8 / stride <= 1 follows a stride of 10 at least. */
TEST(the_rate_converges_and_does_not_oscillate)
{
	const struct machine machine = { .fixed = 0.6, .sampling = 3.8 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	run_for(&budget, &machine, 5);
	ck_assert(cost(&machine, &budget) <= SHARE);
	struct outcome first = run_for(&budget, &machine, 500), later = run_for(&budget, &machine, 500);
	ck_assert_msg(later.changes <= 2 * 500 / CPU_BUDGET_WAIT_MAX + 2, "%u changes at last", later.changes);
	ck_assert_msg(later.exceeding <= 500 / CPU_BUDGET_WAIT_MAX + 1, "%u intervals exceed", later.exceeding);
	ck_assert_uint_le(later.changes, first.changes);
	ck_assert_uint_ge(budget.stride, 7);
	ck_assert_uint_le(budget.stride, 14);
}

TEST(the_rate_comes_back_after_a_busy_time)
{
	const struct machine busy = { .fixed = 0.5, .sampling = 8 }, idle = { .fixed = 0.1, .sampling = 0.2 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	run_for(&budget, &busy, 60);
	ck_assert_uint_ge(budget.stride, 16);
	struct outcome outcome = run_for(&budget, &idle, 2 * CPU_BUDGET_WAIT_MAX);
	ck_assert_uint_eq(budget.stride, 1);
	ck_assert_uint_eq(outcome.exceeding, 0);
}

TEST(one_exceptional_interval_does_not_lower_to_the_floor)
{
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	ck_assert_int_eq(cpu_budget_step(&budget, 500 * SHARE, LONGEST), CPU_BUDGET_LOWERED);
	ck_assert_uint_eq(budget.stride, 4);
}

/* What is left at the lowest rate are unwind tables; if that is not enough, it is stated. */
TEST(tables_are_given_up_at_the_floor)
{
	const struct machine machine = { .fixed = 1.5, .sampling = 0.1, .tables = 0.7 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	run_for(&budget, &machine, 8);
	ck_assert_uint_eq(budget.stride, LONGEST);
	ck_assert(budget.saves_tables);
	ck_assert(cost(&machine, &budget) <= SHARE && !budget.is_exceeded);
}

/* Then process events; they come back first, and cost one interval in many of a load that lasts. */
TEST(events_are_given_up_after_tables)
{
	const struct machine machine = { .fixed = 4.5, .sampling = 0.1, .tables = 0.5, .events = 3.5 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	run_for(&budget, &machine, 6);
	ck_assert(budget.saves_tables && budget.saves_events && !budget.is_exceeded);
	run_for(&budget, &machine, 500);
	struct outcome later = run_for(&budget, &machine, 500);
	ck_assert_msg(later.exceeding <= 500 / CPU_BUDGET_WAIT_MAX + 1, "%u intervals exceed", later.exceeding);
	run_for(&budget, &(struct machine){ .fixed = 0.1 }, 4 * CPU_BUDGET_WAIT_MAX);
	ck_assert(!budget.saves_tables && !budget.saves_events && budget.stride == 1);
}

TEST(events_that_are_needed_are_not_given_up)
{
	const struct machine machine = { .fixed = 4.5, .events = 4 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	budget.needs_events = true;
	run_for(&budget, &machine, 20);
	ck_assert(budget.saves_tables && !budget.saves_events && budget.is_exceeded);
}

TEST(a_budget_that_the_lowest_rate_exceeds_is_stated)
{
	const struct machine machine = { .fixed = 3, .sampling = 1, .tables = 0.5 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	run_for(&budget, &machine, 10);
	ck_assert_uint_eq(budget.stride, LONGEST);
	ck_assert(budget.is_exceeded);
	run_for(&budget, &(struct machine){ .fixed = 0.1 }, 1);
	ck_assert(!budget.is_exceeded);
}

TEST(a_source_that_cannot_sample_less_is_left_alone)
{
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	for (uint32_t i = 0; i < 10; i++)
		cpu_budget_step(&budget, 2 * SHARE, 1);
	ck_assert_uint_eq(budget.stride, 1);
	ck_assert(budget.saves_tables && budget.saves_events && budget.is_exceeded);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
