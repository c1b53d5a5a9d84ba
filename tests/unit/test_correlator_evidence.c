/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is behind samples where several may be: what counts as evidence, what does not, and that what is not certain is
 * marked. Histories that were wrong once.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correlator_history.h"
#include "../run_suite.h"

TEST(code_that_is_loaded_again_is_launched_by_its_newest_callers)
{
	for (uint32_t i = 0; i < 20; i++) {
		uint64_t time = SECOND + i * SECOND / 2, end = time + 400 * MILLISECOND;
		uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, time);
		take_launches(10, kernel, (char)('a' + i), 5, time, end);
		take_relative(0x1000, 50, time, end);
		tell(end + MILLISECOND);
		synchronize(end + 2 * MILLISECOND);
	}
	finish(samples_in, 0, 0);
	for (char site = 'a'; site < 'a' + 20; site++) {
		char frames[] = "first;site_?;-;add";
		*strchr(frames, '?') = site;
		ck_assert_uint_eq(sum(frames), 100);
	}
}

/* As that of one with an image is. */
TEST(the_name_of_a_kernel_without_an_image_is_a_type)
{
	take_launches(10, take_kernel(10, "_ZTS5scaleIfE", BASE + 0x1000, SECOND), 'a', 1, SECOND, SECOND);
	take_relative(0x1000, 50, SECOND, SECOND + 100 * MILLISECOND);
	finish(100, 0, 0);
	ck_assert_uint_eq(sum("first;site_a;-;scale<float>;0x0"), 100);
}

TEST(a_long_kernel_is_of_its_last_launch_also_where_it_is_loaded_again)
{
	uint32_t before = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_launches(10, before, 'a', 9, SECOND, 2 * SECOND);
	uint32_t after = take_kernel(10, "add", BASE + 0x1000, 3 * SECOND);
	take_launches(10, after, 'b', 1, 3 * SECOND, 3 * SECOND);
	take_relative(0x1000, 50, 5 * SECOND, 6 * SECOND);
	finish(100, 0, 0);
	ck_assert_uint_eq(sum("first;site_b;-;add"), 100);
}

/* A module that is loaded again has a kernel of the same name at the same address, which another place launches. */
TEST_LOOP(code_that_is_loaded_again_has_launches_of_its_own, 0, 5)
{
	static const uint64_t gaps[] = { 0, 1, 10, 30, 100 };
	uint64_t again = 2 * SECOND + gaps[_i] * MILLISECOND;
	uint32_t before = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_launches(10, before, 'a', 1000, SECOND, 2 * SECOND - 1);
	take_relative(0x1000, 50, 2 * SECOND - 20 * MILLISECOND, 2 * SECOND - 1);
	uint32_t after = take_kernel(10, "add", BASE + 0x1000, again);
	take_launches(10, after, 'b', 1, again, again);
	for (uint64_t i = 1; i < 5; i++)
		take_relative(0x1000, 50, again + i * 20 * MILLISECOND, again + (i + 1) * 20 * MILLISECOND);
	finish(500, 0, 0);
	ck_assert_uint_eq(sum("first;site_a;-;add"), 100);
	ck_assert_uint_eq(sum("first;site_b;-;add"), 400);
}

/* A load that falls into the interval leaves two kernels that may have run. */
TEST(an_interval_in_which_code_is_loaded_again_is_ambiguous)
{
	uint32_t before = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_launches(10, before, 'a', 1, SECOND, SECOND);
	uint32_t after = take_kernel(10, "add", BASE + 0x1000, 3 * SECOND);
	take_relative(0x1000, 50, 2 * SECOND, 4 * SECOND);
	take_launches(10, after, 'b', 1, 5 * SECOND, 5 * SECOND);
	finish(0, 100, 0);
}

/* Two launches a tenth of a second are not one in each hundredth. */
TEST(rare_launches_do_not_count_in_intervals_without_them)
{
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t time = SECOND + i * 100 * MILLISECOND;
		take_launches(10, kernel, 'a', 10, time + 2 * MILLISECOND, time + 92 * MILLISECOND);
		take_launches(10, kernel, 'b', 2, time + 3 * MILLISECOND, time + 93 * MILLISECOND);
		for (uint64_t k = 0; k < 10; k++)
			take_relative(0x1000, 120, time + k * 10 * MILLISECOND, time + (k + 1) * 10 * MILLISECOND);
	}
	finish(samples_in, 0, 0);
	double share = (double)sum("site_b;-;add") / (double)samples_in;
	ck_assert_double_gt(share, 0.07); /* a half or so of two intervals */
	ck_assert_double_lt(share, 0.1);
}

TEST(single_samples_are_shared_evenly_whatever_came_before)
{
	uint32_t add = take_kernel(10, "add", BASE + 0x1000, SECOND);
	uint32_t other = take_kernel(10, "subtract", BASE + 0x1000, SECOND);
	uint32_t multiply = take_kernel(10, "multiply", BASE + 0x3000, SECOND);
	for (uint64_t i = 0; i < 200; i++) {
		uint64_t time = SECOND + i * 100 * MILLISECOND, end = time + 90 * MILLISECOND;
		take_launches(10, add, 'a', 5, time, end);
		take_launches(10, other, 'a', 5, time, end);
		take_launches(10, multiply, 'a', 5, time, end);
		take_launches(10, multiply, 'b', 5, time, end);
		take_relative(i < 100 ? 0x1000 : 0x3000, 1, time, end);
		tell(end);
		synchronize(end + 1);
	}
	collector_finish(collector);
	ck_assert_uint_ge(sum("site_a;-;multiply"), 99);
	ck_assert_uint_le(sum("site_a;-;multiply"), 101);
	ck_assert_uint_eq(sum("-;multiply"), 200);
}

/* A program whose whole life is in one interval. with_other: somebody else has code at its address. */
TEST_LOOP(a_program_within_one_interval_gets_its_samples, 0, 2)
{
	bool with_other = _i;
	if (with_other) {
		uint32_t other = take_kernel(10, "other", BASE + 0x1000, MILLISECOND);
		take_launches(10, other, 'a', 1, MILLISECOND, MILLISECOND);
	}
	uint64_t begin = 20 * SECOND;
	take_process(20, IAPROF_PROCESS_FORK, "short", begin + 10 * MILLISECOND);
	uint32_t kernel = take_kernel(20, "add", BASE + 0x1000, begin + 20 * MILLISECOND);
	take_launches(20, kernel, 'c', 4, begin + 20 * MILLISECOND, begin + 50 * MILLISECOND);
	take_process(20, IAPROF_PROCESS_EXIT, "", begin + 60 * MILLISECOND);
	take_relative(0x1000, 6, begin, begin + 100 * MILLISECOND);
	for (uint64_t time = begin + SECOND; time < begin + 8 * SECOND; time += SECOND) {
		tell(time);
		synchronize(time);
	}
	finish(12, 0, 0);
	ck_assert_uint_eq(sum("short;site_c;-;add"), 12);
}

TEST(a_base_is_of_its_own_process)
{
	uint32_t victim = take_kernel(10, "victim", BASE + 0x3000, SECOND);
	take_launches(10, victim, 'a', 1, SECOND, 3 * SECOND);
	struct iaprof_record_kernel record = { .id = ++kernel_count,
					       .pid = 11,
					       .name = text("other"),
					       .address = BASE + 0x9000,
					       .size = 0x1000,
					       .instruction_base = BASE + 0x2000 };
	take(LAUNCHES, &record, IAPROF_RECORD_KERNEL, sizeof record, SECOND);
	take_relative(0x1010, 50, SECOND, 2 * SECOND);
	take_relative(0x7000, 5, SECOND, 2 * SECOND);
	finish(10, 0, 100);
	ck_assert_uint_eq(sum("second;-;other"), 10);
}

/* More processes than a table of candidates holds have code at the address. */
TEST(of_very_many_processes_the_busy_one_is_found)
{
	for (uint32_t pid = 100; pid < 400; pid++) {
		bool works = pid == 399;
		take_process(pid, IAPROF_PROCESS_EXISTING, works ? "worker" : "idle", 0);
		uint32_t kernel = take_kernel(pid, works ? "mine" : "theirs", BASE + 0x1000, SECOND);
		take_launches(pid, kernel, works ? 'a' : 'b', 1, SECOND, SECOND);
	}
	take_activity(399, IAPROF_ACTIVITY_SCHEDULER, 90 * MILLISECOND, NULL, 3 * SECOND, 4 * SECOND);
	take_relative(0x1000, 50, 3 * SECOND, 4 * SECOND);
	take_relative(0x1000, 7, 20 * SECOND, 21 * SECOND); /* it is not known who was busy */
	finish(100, 14, 0);
	ck_assert_uint_eq(sum("worker;site_a;-;mine"), 100 + sum("worker;site_a;-;[ambiguous];mine"));
}

TEST(of_very_many_busy_processes_the_busiest_counts)
{
	take_process(999, IAPROF_PROCESS_EXISTING, "worker", 0);
	uint32_t kernel = take_kernel(999, "mine", BASE + 0x1000, SECOND);
	take_launches(999, kernel, 'a', 1, SECOND, 2 * SECOND);
	for (uint32_t pid = 500; pid < 1000; pid++)
		take_activity(pid, IAPROF_ACTIVITY_SCHEDULER, pid == 999 ? SECOND : 100, NULL, SECOND, 2 * SECOND);
	take_relative(0x1000, 50, SECOND, 2 * SECOND);
	finish(0, 100, 0); /* some of the others are not known */
	ck_assert_uint_eq(sum("worker;site_a;-;[ambiguous];mine"), 100);
}

TEST(a_busy_process_whose_launches_are_not_seen_is_not_left_out)
{
	take_kernel(10, "add", BASE + 0x1000, SECOND);
	uint32_t kernel = take_kernel(11, "multiply", BASE + 0x1000, SECOND);
	take_launches(11, kernel, 'b', 1, SECOND, SECOND);
	take_activity(10, IAPROF_ACTIVITY_SCHEDULER, 900 * MILLISECOND, NULL, 30 * SECOND, 31 * SECOND);
	take_activity(11, IAPROF_ACTIVITY_SCHEDULER, 100 * MILLISECOND, NULL, 30 * SECOND, 31 * SECOND);
	take_relative(0x1000, 50, 30 * SECOND, 31 * SECOND);
	finish(0, 100, 0);
	ck_assert_uint_eq(sum("first;[launch not seen];-;[ambiguous];add"), 90);
	ck_assert_uint_eq(sum("second;site_b;-;[ambiguous];multiply"), 10);
}

TEST(whoever_launches_other_kernels_only_does_not_run_this_one)
{
	two_processes();
	uint32_t kernel = take_kernel(11, "other", BASE + 0x5000, SECOND);
	take_launches(11, kernel, 'c', 1, 30 * SECOND, 31 * SECOND);
	take_kernel(10, "never", BASE + 0x5000, SECOND);
	for (uint32_t pid = 10; pid < 12; pid++)
		take_activity(pid, IAPROF_ACTIVITY_SCHEDULER, SECOND / 2, NULL, 30 * SECOND, 31 * SECOND);
	take_relative(0x5000, 50, 30 * SECOND, 31 * SECOND);
	finish(100, 0, 0);
	ck_assert_uint_eq(sum("second;site_c;-;other"), 100);
}

/* Without news of who was busy: one launched it now, the other one shortly before, and may run it still. */
TEST(a_kernel_launched_shortly_before_may_run_still)
{
	uint32_t add = take_kernel(10, "add", BASE + 0x1000, SECOND);
	uint32_t multiply = take_kernel(11, "multiply", BASE + 0x1000, SECOND);
	take_launches(11, multiply, 'b', 1, 1999 * MILLISECOND, 1999 * MILLISECOND);
	take_launches(10, add, 'a', 1, 2099 * MILLISECOND, 2099 * MILLISECOND);
	take_relative(0x1000, 50, 2 * SECOND, 2100 * MILLISECOND);
	take_launches(10, add, 'a', 1, 20 * SECOND, 20 * SECOND);
	take_relative(0x1000, 7, 20 * SECOND, 20100 * MILLISECOND); /* the other one is long over */
	finish(14, 100, 0);
	ck_assert_uint_eq(sum("first;site_a;-;[ambiguous];add"), 100);
	ck_assert_uint_eq(sum("first;site_a;-;add"), 100 + 14);
}

TEST(statistics_are_no_evidence_against_one_that_launches)
{
	two_processes();
	take_activity(10, IAPROF_ACTIVITY_STATISTICS, MILLISECOND, NULL, 2 * SECOND, 3 * SECOND);
	take_relative(0x1000, 50, 2 * SECOND, 3 * SECOND);
	take_relative(0x7000, 5, 2 * SECOND, 3 * SECOND);
	/* One that did not launch it then, but the statistics know it as the only one. */
	take_activity(10, IAPROF_ACTIVITY_STATISTICS, MILLISECOND, NULL, 15 * SECOND, 16 * SECOND);
	take_relative(0x1000, 3, 15 * SECOND, 16 * SECOND);
	finish(6, 100, 10);
	ck_assert_uint_eq(sum("[unknown];-;[unknown device code]"), 10);
	ck_assert_uint_eq(sum("first;site_a;-;[ambiguous];add"), 50);
	ck_assert_uint_eq(sum("first;site_a;-;add"), 50 + 6);
}

TEST(a_late_exec_ends_the_old_program_only)
{
	take_process(20, IAPROF_PROCESS_FORK, "sh", SECOND);
	uint32_t kernel = take_kernel(20, "add", BASE + 0x1000, 1100 * MILLISECOND);
	take_launches(20, kernel, 'a', 1, 1100 * MILLISECOND, 1200 * MILLISECOND);
	take_process(20, IAPROF_PROCESS_EXEC, "program", 1050 * MILLISECOND);
	for (uint64_t time = 2 * SECOND; time < 20 * SECOND; time += SECOND) {
		tell(time);
		synchronize(time);
	}
	take_launches(20, kernel, 'a', 1, 20 * SECOND, 21 * SECOND);
	take_relative(0x1000, 50, 20 * SECOND, 21 * SECOND);
	finish(100, 0, 0);
	ck_assert_uint_eq(sum("program;site_a;-;add"), 100);
	ck_assert_uint_eq(collector_statistics(collector).correlator.launches_unknown, 0);
}

/* Their ends are reported before their code: nothing of them stays. */
TEST(short_programs_leave_nothing_behind)
{
	for (uint32_t i = 0; i < 5000; i++) {
		uint64_t time = i * 4 * MILLISECOND;
		take_process(1000 + i, IAPROF_PROCESS_FORK, "short", time);
		take_process(1000 + i, IAPROF_PROCESS_EXIT, "", time + 3 * MILLISECOND);
		struct iaprof_record_kernel record = { .id = ++kernel_count,
						       .pid = 1000 + i,
						       .name = text("add"),
						       .address = BASE + 0x1000,
						       .size = 0x1000,
						       .instruction_base = BASE - (uint64_t)i * 0x1000 };
		take(LAUNCHES, &record, IAPROF_RECORD_KERNEL, sizeof record, time + MILLISECOND);
		if (i % 100 == 99)
			synchronize(time);
	}
	for (uint64_t time = 21 * SECOND; time < 40 * SECOND; time += SECOND)
		synchronize(time);
	ck_assert_uint_eq(collector_statistics(collector).correlator.kernels_refused, 0);
	uint64_t refused = collector_statistics(collector).correlator.bases_refused;
	uint32_t kernel = take_kernel(10, "add", BASE + (UINT64_C(7) << 40), 41 * SECOND);
	take_launches(10, kernel, 'a', 1, 41 * SECOND, 42 * SECOND);
	take_relative(0x10, 50, 41 * SECOND, 42 * SECOND);
	finish(100, 0, 0);
	ck_assert_uint_eq(collector_statistics(collector).correlator.bases_refused, refused);
}

TEST(very_many_stacks_of_one_kernel_share_it)
{
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_launches(10, kernel, 'a', 100, SECOND, SECOND + 90 * MILLISECOND);
	take_relative(0x1000, 50, SECOND, SECOND + 95 * MILLISECOND);
	for (uint32_t i = 0; i < 3000; i++)
		take_launches(10, kernel, (char)('b' + i % 20), 1, SECOND + 500 * MILLISECOND,
			      SECOND + 500 * MILLISECOND);
	tell(2 * SECOND);
	synchronize(2 * SECOND);
	finish(100, 0, 0);
	ck_assert_uint_eq(sum("first;site_a;-;add"), 100);
}

/* Each process's part is divided by how often each of its stacks launched. */
TEST(ambiguous_samples_are_shared_by_busy_time_and_launches)
{
	uint32_t add = take_kernel(10, "add", BASE + 0x1000, SECOND);
	uint32_t multiply = take_kernel(11, "multiply", BASE + 0x1000, SECOND);
	take_launches(10, add, 'a', 30, 30 * SECOND, 31 * SECOND);
	take_launches(10, add, 'c', 10, 30 * SECOND, 31 * SECOND);
	take_launches(11, multiply, 'b', 1000, 30 * SECOND, 31 * SECOND);
	take_activity(10, IAPROF_ACTIVITY_SCHEDULER, 600 * MILLISECOND, NULL, 30 * SECOND, 31 * SECOND);
	take_activity(11, IAPROF_ACTIVITY_SCHEDULER, 200 * MILLISECOND, NULL, 30 * SECOND, 31 * SECOND);
	take_relative(0x1000, 400, 30 * SECOND, 31 * SECOND);
	finish(0, 800, 0);
	ck_assert_uint_eq(sum("first;site_a;-;[ambiguous];add"), 450);
	ck_assert_uint_eq(sum("first;site_c;-;[ambiguous];add"), 150);
	ck_assert_uint_eq(sum("second;site_b;-;[ambiguous];multiply"), 200);
}

/* Of unknown code it is known whose it is when one process alone was busy, and the scheduler reports it. */
TEST(unknown_code_is_the_only_busy_process_s)
{
	take_activity(10, IAPROF_ACTIVITY_SCHEDULER, 600 * MILLISECOND, "copy", 30 * SECOND, 31 * SECOND);
	take_relative(0x5000, 10, 30 * SECOND, 31 * SECOND);
	take_activity(10, IAPROF_ACTIVITY_SCHEDULER, 600 * MILLISECOND, "copy", 40 * SECOND, 41 * SECOND);
	take_activity(11, IAPROF_ACTIVITY_SCHEDULER, 1, "copy", 40 * SECOND, 41 * SECOND);
	take_relative(0x5000, 100, 40 * SECOND, 41 * SECOND);
	take_activity(11, IAPROF_ACTIVITY_SCHEDULER + 1, SECOND, "copy", 50 * SECOND, 51 * SECOND);
	take_relative(0x5000, 1000, 50 * SECOND, 51 * SECOND);
	finish(0, 0, 2220);
	ck_assert_uint_eq(sum("first;-;copy"), 20);
	ck_assert_uint_eq(sum("first;-"), 20);
	ck_assert_uint_eq(sum("second;-"), 0);
}

/* Who was busy is remembered for samples that come late: the hold of 2 s, and 5 s more. */
TEST_LOOP(activity_is_remembered_for_late_samples, 0, 2)
{
	two_processes();
	take_activity(10, IAPROF_ACTIVITY_SCHEDULER, 600 * MILLISECOND, NULL, 30 * SECOND, 31 * SECOND);
	synchronize(31 * SECOND + (CORRELATOR_HOLD + 5 * SECOND) * (unsigned)_i);
	synchronize(31 * SECOND + (CORRELATOR_HOLD + 5 * SECOND) * (unsigned)_i + (unsigned)_i);
	take_relative(0x1000, 50, 30 * SECOND, 31 * SECOND);
	finish(_i ? 0 : 100, _i ? 100 : 0, 0);
}

/* The code of a program that has ended is remembered as long. _i: it is forgotten then. */
TEST_LOOP(code_is_remembered_for_late_samples, 0, 2)
{
	take_process(20, IAPROF_PROCESS_FORK, "short", 10 * SECOND);
	uint32_t kernel = take_kernel(20, "add", BASE + 0x1000, 11 * SECOND);
	take_launches(20, kernel, 'c', 4, 12 * SECOND, 13 * SECOND);
	take_process(20, IAPROF_PROCESS_EXIT, "", 20 * SECOND);
	synchronize(20 * SECOND + CORRELATOR_HOLD + 5 * SECOND + (unsigned)_i);
	take_relative(0x1000, 50, 19 * SECOND, 20 * SECOND);
	finish(_i ? 0 : 100, 0, _i ? 100 : 0);
	ck_assert_uint_eq(sum("short;site_c;-;add"), _i ? 0 : 100);
}

/* Launches of times after a SYNC wait for the next one: whose they are is not sure before. */
TEST(launches_of_later_times_wait)
{
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_launches(10, kernel, 'a', 1, 30 * SECOND, 31 * SECOND);
	take_launches(10, kernel, 'b', 1, 33 * SECOND, 34 * SECOND);
	take_launches(10, kernel, 'c', 1, 33 * SECOND, 34 * SECOND);
	synchronize(32 * SECOND);
	take_relative(0x1000, 10, 30 * SECOND, 31 * SECOND);
	take_relative(0x1000, 100, 33 * SECOND, 34 * SECOND);
	synchronize(40 * SECOND);
	finish(220, 0, 0);
	ck_assert_uint_eq(sum("first;site_a;-;add"), 20);
	ck_assert_uint_eq(sum("first;site_b;-;add"), 100);
	ck_assert_uint_eq(sum("first;site_c;-;add"), 100);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
