/* SPDX-License-Identifier: Apache-2.0 */
/* The budget of CPU time, held against simulated machines: their cost per interval follows from the rate. */
#include <check.h>

#include "run/cpu_budget.h"
#include "../run_suite.h"

#define LONGEST 19u /* of 19 Hz, 1 Hz remains */
#define SHARE 0.001

/* What an interval costs, in shares of the budget. */
struct machine {
	double fixed;    /* whatever is given up */
	double switches; /* of samples, but at any rate */
	double sampling; /* at the full rate */
	double tables;   /* that of new unwind tables */
	double events;   /* that of process events */
};

static struct cpu_budget_cost cost(const struct machine *machine, const struct cpu_budget *budget)
{
	struct cpu_budget_cost cost = { .samples = SHARE * (machine->switches + machine->sampling / budget->stride),
					.tables = budget->saves_tables ? 0 : SHARE * machine->tables,
					.events = budget->saves_events ? 0 : SHARE * machine->events };
	cost.all = SHARE * machine->fixed + cost.samples + cost.tables + cost.events;
	return cost;
}

struct outcome {
	uint32_t changes, exceeding; /* intervals */
};

static struct outcome run_for(struct cpu_budget *budget, const struct machine *machine, uint32_t intervals)
{
	struct outcome outcome = { 0 };
	for (uint32_t i = 0; i < intervals; i++) {
		struct cpu_budget_cost used = cost(machine, budget);
		outcome.exceeding += used.all > SHARE;
		outcome.changes += cpu_budget_step(budget, &used, LONGEST) != CPU_BUDGET_KEPT;
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

/* From 0.6 + 3.8 / stride <= 1 follows a stride of 10 at least, and of 19 from the aim of 0.8. */
TEST(the_rate_converges_and_does_not_oscillate)
{
	const struct machine machine = { .fixed = 0.6, .sampling = 3.8 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	run_for(&budget, &machine, 5);
	ck_assert(cost(&machine, &budget).all <= SHARE);
	struct outcome first = run_for(&budget, &machine, 500), later = run_for(&budget, &machine, 500);
	ck_assert_msg(later.changes <= 2 * 500 / CPU_BUDGET_WAIT_MAX + 2, "%u changes at last", later.changes);
	ck_assert_msg(later.exceeding <= 500 / CPU_BUDGET_WAIT_MAX + 1, "%u intervals exceed", later.exceeding);
	ck_assert_uint_le(later.changes, first.changes);
	ck_assert_uint_ge(budget.stride, 10);
	ck_assert_uint_le(budget.stride, LONGEST);
}

TEST(the_rate_comes_back_two_intervals_after_a_busy_time)
{
	const struct machine busy = { .fixed = 0.5, .sampling = 8, .tables = 1.2, .events = 2 };
	const struct machine idle = { .fixed = 0.1, .sampling = 0.2 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	run_for(&budget, &busy, 10);
	ck_assert(budget.stride >= 16 && budget.saves_tables && budget.saves_events && !budget.is_exceeded);
	struct outcome outcome = run_for(&budget, &idle, 2);
	ck_assert(budget.stride == 1 && !budget.saves_tables && !budget.saves_events);
	ck_assert_uint_eq(outcome.exceeding, 0);
}

TEST(one_exceptional_interval_does_not_lower_to_the_floor)
{
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	ck_assert_int_eq(cpu_budget_step(&budget,
					 &(struct cpu_budget_cost){ .all = 500 * SHARE, .samples = 400 * SHARE },
					 LONGEST),
			 CPU_BUDGET_LOWERED);
	ck_assert_uint_eq(budget.stride, 4);
}

/* On a machine that starts many programs, most of the cost is not that of samples. */
TEST(events_and_tables_are_given_up_before_the_rate)
{
	const struct machine machine = { .fixed = 0.3, .sampling = 0.4, .tables = 0.5, .events = 3.5 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	run_for(&budget, &machine, 1);
	ck_assert(budget.saves_events && !budget.saves_tables && budget.stride == 1);
	run_for(&budget, &machine, 1);
	ck_assert(budget.saves_events && budget.saves_tables && budget.stride == 1);
	run_for(&budget, &machine, 500);
	struct outcome later = run_for(&budget, &machine, 500);
	ck_assert_msg(later.exceeding <= 2 * 500 / CPU_BUDGET_WAIT_MAX + 2, "%u intervals exceed", later.exceeding);
	ck_assert_uint_eq(budget.stride, 1);
}

TEST(what_costs_little_is_not_given_up)
{
	const struct machine machine = { .fixed = 0.2, .sampling = 4, .tables = 0.1, .events = 0.1 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	run_for(&budget, &machine, 3);
	ck_assert(!budget.saves_tables && !budget.saves_events && budget.stride > 5 && !budget.is_exceeded);
}

TEST(events_that_are_needed_are_not_given_up)
{
	const struct machine machine = { .fixed = 0.5, .events = 4 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	budget.needs_events = true;
	run_for(&budget, &machine, 20);
	ck_assert(!budget.saves_events && budget.is_exceeded);
}

/* A lower rate would save 3 % of what is used. */
TEST(the_rate_is_kept_where_lowering_it_saves_nothing)
{
	const struct machine machine = { .fixed = 3, .sampling = 0.1 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	run_for(&budget, &machine, 10);
	ck_assert(budget.stride == 1 && budget.is_exceeded);
	run_for(&budget, &(struct machine){ .fixed = 0.1 }, 1);
	ck_assert(!budget.is_exceeded);
}

/* Samples are a tenth of the cost at last, not a hundredth. */
TEST(the_rate_is_lowered_no_further_than_it_saves_something)
{
	const struct machine machine = { .fixed = 3, .sampling = 1 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	run_for(&budget, &machine, 20);
	ck_assert(budget.is_exceeded && budget.stride > 1);
	ck_assert_msg(budget.stride <= 4, "1 of %u", budget.stride);
}

/* Nine tenths of what samples cost is that of looking at each switch. */
TEST(a_rate_that_saves_little_is_undone)
{
	const struct machine machine = { .fixed = 0.2, .switches = 9, .sampling = 1 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	run_for(&budget, &machine, 3);
	ck_assert_uint_eq(budget.stride, LONGEST);
	struct cpu_budget_cost used = cost(&machine, &budget);
	ck_assert_int_eq(cpu_budget_step(&budget, &used, LONGEST), CPU_BUDGET_RAISED);
	ck_assert(budget.stride == 1 && budget.is_exceeded);
	ck_assert(budget.dependent > 0.099 && budget.dependent < 0.101);
	uint32_t lowered = 0;
	for (int i = 0; i < 500; i++) {
		run_for(&budget, &machine, 1);
		lowered += budget.stride > 1;
	}
	ck_assert_msg(lowered && lowered < 60, "%u of 500 intervals", lowered);
}

/* It exceeds the budget, but by a third of what it did. */
TEST(a_rate_that_saves_much_is_kept)
{
	const struct machine machine = { .switches = 4, .sampling = 8 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	run_for(&budget, &machine, 50);
	ck_assert(budget.stride > 4 && budget.is_exceeded);
}

/* Attempts during a load that lasts do not delay the end of the next one. */
TEST(all_comes_back_when_the_load_ends_whatever_was_tried_before)
{
	const struct machine busy = { .fixed = 0.3, .sampling = 0.4, .tables = 0.5, .events = 3.5 };
	const struct machine gone = { .fixed = 0.05, .sampling = 0.05 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	run_for(&budget, &busy, 500);
	ck_assert(budget.saves_events && budget.wait > CPU_BUDGET_WAIT);
	run_for(&budget, &gone, 2);
	ck_assert(!budget.saves_events && !budget.saves_tables);
}

/* The rest costs as much of another mix: the first step is too short. */
TEST(the_rate_is_whole_two_intervals_after_the_load)
{
	const struct machine busy = { .switches = 0.4, .sampling = 8 };
	const struct machine gone = { .switches = 0.2, .sampling = 0.3 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	run_for(&budget, &busy, 20);
	ck_assert_uint_gt(budget.stride, 8);
	run_for(&budget, &gone, 1);
	ck_assert_uint_gt(budget.stride, 1);
	run_for(&budget, &gone, 1);
	ck_assert_uint_eq(budget.stride, 1);
}

/* What was learned of one load is not held against another. */
TEST(a_load_that_grows_while_the_rate_is_lowered_is_lowered_later)
{
	const struct machine small = { .sampling = 2 }, large = { .sampling = 400 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	run_for(&budget, &small, 1);
	ck_assert_uint_gt(budget.stride, 1);
	run_for(&budget, &large, 3);
	ck_assert(budget.stride == 1 && budget.is_exceeded);
	run_for(&budget, &large, CPU_BUDGET_PAUSE + 3);
	ck_assert_uint_eq(budget.stride, LONGEST);
}

TEST(a_source_that_cannot_sample_less_is_left_alone)
{
	const struct cpu_budget_cost cost = { 2 * SHARE, SHARE, SHARE / 2, SHARE / 2 };
	struct cpu_budget budget;
	cpu_budget_init(&budget, SHARE);
	for (uint32_t i = 0; i < 10; i++)
		cpu_budget_step(&budget, &cost, 1);
	ck_assert_uint_eq(budget.stride, 1);
	ck_assert(budget.saves_tables && budget.saves_events && budget.is_exceeded);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
