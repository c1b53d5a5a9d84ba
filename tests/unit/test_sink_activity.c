/* SPDX-License-Identifier: Apache-2.0 */
/* Which profiles of a sink have arrived, by the counts that it reports. */
#include <check.h>

#include "run/sink_activity.h"
#include "../run_suite.h"

static struct iaprof_delivery counts(uint64_t delivered, uint64_t refused, uint64_t dropped, uint64_t waiting)
{
	return (struct iaprof_delivery){ .size = sizeof(struct iaprof_delivery),
					 .delivered = delivered,
					 .refused = refused,
					 .dropped = dropped,
					 .waiting = waiting,
					 .stored = IAPROF_COUNT_UNKNOWN };
}

TEST(a_sink_that_reports_nothing_has_delivered_what_it_accepted)
{
	struct delivery_marks marks = { 0 };
	const struct iaprof_delivery none = { 0 };
	delivery_marks_add(&marks, &none, 10);
	delivery_marks_add(&marks, &none, 20);
	ck_assert_uint_eq(marks.newest, 20);
}

TEST(a_profile_has_arrived_when_all_of_its_items_have)
{
	struct delivery_marks marks = { 0 };
	struct iaprof_delivery now = counts(0, 0, 0, 2);
	delivery_marks_add(&marks, &now, 10); /* items 1 and 2 */
	now = counts(0, 0, 0, 3);
	delivery_marks_add(&marks, &now, 20); /* item 3 */
	ck_assert_uint_eq(marks.newest, 0);
	now = counts(1, 0, 0, 2);
	delivery_marks_advance(&marks, &now);
	ck_assert_uint_eq(marks.newest, 0);
	now = counts(2, 0, 0, 1);
	delivery_marks_advance(&marks, &now);
	ck_assert_uint_eq(marks.newest, 10);
	now = counts(3, 0, 0, 0);
	delivery_marks_advance(&marks, &now);
	ck_assert_uint_eq(marks.newest, 20);
}

/* As the sink ring, whose profile() reports before it returns. */
TEST(what_is_delivered_at_once_counts_at_once)
{
	struct delivery_marks marks = { 0 };
	struct iaprof_delivery now = counts(1, IAPROF_COUNT_UNKNOWN, 0, IAPROF_COUNT_UNKNOWN);
	delivery_marks_advance(&marks, &now);
	delivery_marks_add(&marks, &now, 10);
	ck_assert_uint_eq(marks.newest, 10);
	now.delivered = 2;
	delivery_marks_advance(&marks, &now);
	delivery_marks_add(&marks, &now, 20);
	ck_assert_uint_eq(marks.newest, 20);
	ck_assert_uint_eq(marks.count, 0);
}

TEST(what_is_refused_or_dropped_does_not_count)
{
	struct delivery_marks marks = { 0 };
	struct iaprof_delivery now = counts(1, 0, 0, 0);
	delivery_marks_add(&marks, &now, 10);
	now = counts(1, 1, 0, 0);
	delivery_marks_add(&marks, &now, 20);
	now = counts(1, 1, 1, 0);
	delivery_marks_add(&marks, &now, 30);
	ck_assert_uint_eq(marks.newest, 10);
	now = counts(2, 1, 1, 0);
	delivery_marks_add(&marks, &now, 40);
	ck_assert_uint_eq(marks.newest, 40);
}

/* The age of the newest profile is never less than the truth, and the last one is exact. */
TEST(marks_are_bounded_and_late_at_worst)
{
	struct delivery_marks marks = { 0 };
	enum { COUNT = 10 * DELIVERY_MARKS_MAX };
	for (uint64_t i = 1; i <= COUNT; i++) {
		struct iaprof_delivery now = counts(0, 0, 0, i);
		delivery_marks_add(&marks, &now, 100 * i);
		ck_assert_uint_le(marks.count, DELIVERY_MARKS_MAX);
	}
	for (uint64_t i = 1; i <= COUNT; i++) {
		struct iaprof_delivery now = counts(i, 0, 0, COUNT - i);
		delivery_marks_advance(&marks, &now);
		ck_assert_uint_le(marks.newest, 100 * i);
	}
	ck_assert_uint_eq(marks.newest, 100 * COUNT);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
