/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples in unknown code of processes that launch kernels without an address, such as those inside a driver: they are
 * of these kernels where nothing else explains them, of none of them otherwise, and never of a kernel with an address.
 */
#include <check.h>

#include "correlator_history.h"
#include "../run_suite.h"

#define UNKNOWN 0x9000

static uint32_t take_unplaced(uint32_t pid, const char *name, uint64_t time)
{
	struct iaprof_record_kernel record = { .id = ++kernel_count, .pid = pid, .name = text(name) };
	take(LAUNCHES, &record, IAPROF_RECORD_KERNEL, sizeof record, time);
	return record.id;
}

/* A kernel with an address, launched all the time. */
static void take_add(uint32_t pid)
{
	take_launches(pid, take_kernel(pid, "add", BASE + 0x1000, SECOND), 'a', 1000, SECOND, 40 * SECOND);
}

TEST(samples_in_unknown_code_are_of_the_only_kernel_without_an_address)
{
	take_add(10);
	take_launches(10, take_unplaced(10, "[fill]", SECOND), 'f', 1, SECOND, SECOND);
	take_relative(UNKNOWN, 50, SECOND, SECOND + 100 * MILLISECOND);
	take_relative(0x1000, 10, SECOND, SECOND + 100 * MILLISECOND);
	finish(120, 0, 0);
	ck_assert_uint_eq(sum("first;site_f;-;[fill];0x9000"), 100);
	ck_assert_uint_eq(sum("first;site_a;-;add"), 20);
}

/* Without a kernel with an address there is no instruction base either. */
TEST(a_process_may_have_only_kernels_without_an_address)
{
	take_launches(10, take_unplaced(10, "[fill]", SECOND), 'f', 1, SECOND, SECOND);
	take_relative(UNKNOWN, 50, SECOND, SECOND + 100 * MILLISECOND);
	finish(100, 0, 0);
	ck_assert_uint_eq(sum("first;site_f;-;[fill]"), 100);
}

TEST(several_kernels_without_an_address_are_named_together)
{
	take_launches(10, take_unplaced(10, "[fill]", SECOND), 'f', 3, SECOND, SECOND);
	take_launches(10, take_unplaced(10, "[copy]", SECOND), 'c', 1, SECOND, SECOND);
	take_relative(UNKNOWN, 50, SECOND, SECOND + 100 * MILLISECOND);
	finish(0, 100, 0);
	ck_assert_uint_eq(sum("first;site_f;-;[ambiguous];[copy] or [fill]"), 75);
	ck_assert_uint_eq(sum("first;site_c;-;[ambiguous];[copy] or [fill]"), 25);
}

/* What ran at an address before the first copy, and runs after the last, is no copy. */
TEST(other_samples_at_an_address_tell_which_kernel_it_is)
{
	uint32_t fill = take_unplaced(10, "[fill]", SECOND), copy = take_unplaced(10, "[copy]", SECOND);
	take_launches(10, fill, 'f', 1, SECOND, SECOND);
	take_relative(UNKNOWN, 50, SECOND, SECOND + 100 * MILLISECOND);
	take_launches(10, copy, 'c', 1, 3 * SECOND, 3 * SECOND);
	take_launches(10, fill, 'f', 1, 3 * SECOND, 3 * SECOND);
	take_relative(UNKNOWN, 50, 3 * SECOND, 3 * SECOND + 100 * MILLISECOND);
	take_launches(10, copy, 'c', 1, 20 * SECOND, 20 * SECOND);
	take_relative(UNKNOWN + 0x1000, 50, 20 * SECOND, 20 * SECOND + 100 * MILLISECOND);
	finish(300, 0, 0);
	ck_assert_uint_eq(sum("first;site_f;-;[fill]"), 200);
	ck_assert_uint_eq(sum("first;site_c;-;[copy];0xa000"), 100);
}

/* _i 0: before any launch; 1: when the last one has ended long ago. */
TEST_LOOP(samples_without_a_launch_that_explains_them_remain_unknown, 0, 2)
{
	take_add(10);
	uint32_t fill = take_unplaced(10, "[fill]", SECOND);
	uint64_t time = _i ? 20 * SECOND : 2 * SECOND;
	if (_i)
		take_launches(10, fill, 'f', 1, 5 * SECOND, 5 * SECOND);
	take_relative(UNKNOWN, 50, time, time + 100 * MILLISECOND);
	/* From now on it is known that the code there is no fill's. */
	take_launches(10, fill, 'f', 1, 25 * SECOND, 25 * SECOND);
	take_relative(UNKNOWN, 50, 25 * SECOND, 25 * SECOND + 100 * MILLISECOND);
	finish(0, 0, 200);
	ck_assert_uint_eq(sum("[fill]"), 0);
}

TEST(code_that_was_at_an_address_at_another_time_is_not_a_kernel_without_one)
{
	uint32_t object = take_object(10, "/none", 0, SECOND);
	take_add(10);
	take_launches(10, take_unplaced(10, "[fill]", SECOND), 'f', 1, 4 * SECOND, 4 * SECOND);
	take_kernel(10, "late", BASE + UNKNOWN, 6 * SECOND);
	take_relative(UNKNOWN, 50, 4 * SECOND, 4 * SECOND + 100 * MILLISECOND);
	take_unload(10, object, 7 * SECOND);
	finish(0, 0, 100);
	ck_assert_uint_eq(sum("[fill]"), 0);
}

/* A kernel that is announced after the samples, as while a profiler attaches. */
TEST(samples_wait_for_their_code_before_they_are_of_a_kernel_without_an_address)
{
	take_launches(10, take_unplaced(10, "[fill]", SECOND), 'f', 1, 4 * SECOND, 4 * SECOND);
	take_relative(0x1000, 50, 4 * SECOND, 4 * SECOND + 100 * MILLISECOND);
	tell(5 * SECOND);
	synchronize(5 * SECOND);
	take_launches(10, take_kernel(10, "add", BASE + 0x1000, 4 * SECOND), 'a', 1, 4 * SECOND, 4 * SECOND);
	synchronize(5 * SECOND + MILLISECOND);
	finish(100, 0, 0);
	ck_assert_uint_eq(sum("first;site_a;-;add"), 100);
}

/* Launches that are reported late, as by a busy machine: until then nothing is concluded from the samples. */
TEST(late_launches_explain_samples_that_wait)
{
	take_add(10);
	take_relative(UNKNOWN, 50, 4 * SECOND, 4 * SECOND + 100 * MILLISECOND);
	tell(5 * SECOND);
	synchronize(5 * SECOND);
	take_launches(10, take_unplaced(10, "[fill]", 4 * SECOND), 'f', 1, 4 * SECOND, 4 * SECOND);
	synchronize(5 * SECOND + MILLISECOND);
	finish(100, 0, 0);
	ck_assert_uint_eq(sum("first;site_f;-;[fill]"), 100);
}

/* Somebody else's kernel at the address, launched as often: it may be either. */
TEST(a_kernel_with_an_address_of_another_process_shares_the_samples)
{
	take_launches(11, take_kernel(11, "multiply", BASE + 0x1000, SECOND), 'b', 1, 2 * SECOND, 2 * SECOND);
	take_launches(10, take_unplaced(10, "[fill]", SECOND), 'f', 1, 2 * SECOND, 2 * SECOND);
	take_relative(0x1000, 50, 2 * SECOND, 2 * SECOND + 100 * MILLISECOND);
	finish(0, 100, 0);
	ck_assert_uint_eq(sum("first;site_f;-;[ambiguous];[fill]"), 50);
	ck_assert_uint_eq(sum("second;site_b;-;[ambiguous];multiply"), 50);
}

/* _i: the scheduler ran the other one only. */
TEST_LOOP(the_scheduler_tells_whose_the_samples_are, 0, 2)
{
	take_launches(11, take_kernel(11, "multiply", BASE + 0x1000, SECOND), 'b', 1, 2 * SECOND, 2 * SECOND);
	take_launches(10, take_unplaced(10, "[fill]", SECOND), 'f', 1, 2 * SECOND, 2 * SECOND);
	take_activity(_i ? 11 : 10, IAPROF_ACTIVITY_SCHEDULER, 100 * MILLISECOND, NULL, 2 * SECOND,
		      2 * SECOND + 100 * MILLISECOND);
	take_relative(0x1000, 50, 2 * SECOND, 2 * SECOND + 100 * MILLISECOND);
	finish(100, 0, 0);
	ck_assert_uint_eq(sum("first;site_f;-;[fill]"), _i ? 0 : 100);
	ck_assert_uint_eq(sum("second;site_b;-;multiply"), _i ? 100 : 0);
}

/* A process of which nothing is known ran as well. */
TEST(a_busy_process_without_known_code_makes_samples_ambiguous)
{
	take_launches(10, take_unplaced(10, "[fill]", SECOND), 'f', 1, 2 * SECOND, 2 * SECOND);
	take_activity(10, IAPROF_ACTIVITY_SCHEDULER, 50 * MILLISECOND, NULL, 2 * SECOND,
		      2 * SECOND + 100 * MILLISECOND);
	take_activity(11, IAPROF_ACTIVITY_SCHEDULER, 50 * MILLISECOND, NULL, 2 * SECOND,
		      2 * SECOND + 100 * MILLISECOND);
	take_relative(UNKNOWN, 50, 2 * SECOND, 2 * SECOND + 100 * MILLISECOND);
	finish(0, 100, 0);
}

/* Code whose base is not known may be anywhere. */
TEST(a_process_with_code_of_unknown_base_has_no_certain_samples)
{
	take_kernel(10, "add", 0x1000, SECOND);
	take_launches(10, take_unplaced(10, "[fill]", SECOND), 'f', 1, 2 * SECOND, 2 * SECOND);
	take_relative(UNKNOWN, 50, 2 * SECOND, 2 * SECOND + 100 * MILLISECOND);
	finish(0, 0, 100);
}

/* A program that reuses a pid has other code. */
TEST(what_is_known_of_an_address_ends_with_the_program)
{
	take_process(20, IAPROF_PROCESS_FORK, "before", SECOND);
	take_launches(20, take_unplaced(20, "[fill]", SECOND), 'f', 1, 2 * SECOND, 2 * SECOND);
	take_relative(UNKNOWN, 50, 2 * SECOND, 2 * SECOND + 100 * MILLISECOND);
	take_process(20, IAPROF_PROCESS_EXIT, "", 3 * SECOND);
	tell(10 * SECOND);
	synchronize(10 * SECOND);
	take_process(20, IAPROF_PROCESS_FORK, "after", 20 * SECOND);
	take_launches(20, take_unplaced(20, "[copy]", 21 * SECOND), 'c', 1, 21 * SECOND, 21 * SECOND);
	take_relative(UNKNOWN, 50, 21 * SECOND, 21 * SECOND + 100 * MILLISECOND);
	finish(200, 0, 0);
	ck_assert_uint_eq(sum("before;site_f;-;[fill]"), 100);
	ck_assert_uint_eq(sum("after;site_c;-;[copy]"), 100);
}

/* What has ended runs nothing any more. */
TEST(kernels_of_programs_that_have_ended_are_not_considered)
{
	take_process(20, IAPROF_PROCESS_FORK, "ended", SECOND);
	take_launches(20, take_unplaced(20, "[copy]", SECOND), 'c', 1, 2 * SECOND, 2 * SECOND);
	take_process(20, IAPROF_PROCESS_EXIT, "", 3 * SECOND);
	take_launches(10, take_unplaced(10, "[fill]", SECOND), 'f', 1, 4 * SECOND, 4 * SECOND);
	take_relative(UNKNOWN, 50, 5 * SECOND, 5 * SECOND + 100 * MILLISECOND);
	finish(100, 0, 0);
	ck_assert_uint_eq(sum("first;site_f;-;[fill]"), 100);
}

/* More kernels than can be distinguished. _i: one more than that. */
TEST_LOOP(many_kernels_without_an_address_are_unknown_code, 0, 2)
{
	char name[] = "k?";
	for (int i = 0; i < 8 + _i; i++) {
		name[1] = (char)('0' + i);
		take_launches(10, take_unplaced(10, name, SECOND), 'a', 1, 2 * SECOND, 2 * SECOND);
	}
	take_relative(UNKNOWN, 50, 2 * SECOND, 2 * SECOND + 100 * MILLISECOND);
	finish(0, _i ? 0 : 100, _i ? 100 : 0);
	ck_assert_uint_eq(sum("k0 or k1 or k2 or k3 or k4 or k5 or k6 or k7"), _i ? 0 : 100);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
