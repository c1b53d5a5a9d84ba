/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that come in sums, a turn at a time: the tally has what happened, and no rate that there was not. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "findings.h"
#include "live_tally.h"

#define SECOND UINT64_C(1000000000)
#define MILLISECOND UINT64_C(1000000)

static struct live_tally tally;
static const struct ivpu_limits defaults = IVPU_LIMITS_DEFAULT;

static void set_up(void)
{
	tally = (struct live_tally){ 0 };
	live_tally_begin(&tally, SECOND);
}

static void add(const char *function, uint64_t count, uint64_t first, uint64_t last)
{
	live_tally_add(&tally, ivpu_function_find(function), count, first, last, false);
}

static void take(void *context, const struct ivpu_finding *finding)
{
	strcpy(context, finding->name);
}

/* The last finding, "" for none. */
static const char *finding(void)
{
	static char name[64];
	struct ivpu_tally result = live_tally_result(&tally);
	*name = '\0';
	ivpu_findings(&result, &defaults, take, name);
	return name;
}

/* 150 messages a second in turns that come early and late: two of them are in one second of any clock. */
START_TEST(a_rate_is_that_of_its_time)
{
	uint64_t time = SECOND;
	for (int i = 0; i < 40; i++) {
		uint64_t length = i % 2 ? 996 * MILLISECOND : 1004 * MILLISECOND;
		time += length;
		add("ivpu_ipc_irq_handler", 150 * length / SECOND, time - length, time - 1);
		live_tally_end_turn(&tally, time);
	}
	struct ivpu_tally result = live_tally_result(&tally);
	ck_assert_double_eq_tol(result.message_rate, 150, 2);
	ck_assert_double_eq_tol(result.usual_rate, 150, 2);
	ck_assert_uint_eq(result.messages, 20 * (149 + 150));
	ck_assert_str_eq(finding(), "");
	/* Short turns are put together. */
	for (int i = 0; i < 30; i++) {
		time += 100 * MILLISECOND;
		add("ivpu_ipc_irq_handler", 15, time - 1, time - 1);
		live_tally_end_turn(&tally, time);
	}
	ck_assert_str_eq(finding(), "");
	add("ivpu_ipc_irq_handler", 1000, time, time + 1);
	live_tally_end_turn(&tally, time + 200 * MILLISECOND);
	ck_assert_str_eq(finding(), "npu-ipc-storm");
	ck_assert_uint_eq(live_tally_result(&tally).messages, tally.overview.messages);
}
END_TEST

START_TEST(polls_while_it_boots_are_no_messages)
{
	live_tally_add(&tally, ivpu_function_find("ivpu_ipc_irq_handler"), 942, SECOND, SECOND + 1, true);
	add("ivpu_ipc_irq_handler", 4, 2 * SECOND, 2 * SECOND);
	add("ivpu_boot", 1, SECOND, SECOND);
	live_tally_end_turn(&tally, 2 * SECOND);
	ck_assert_uint_eq(tally.overview.calls, 947);
	ck_assert_uint_eq(tally.overview.boot_polls, 942);
	ck_assert_uint_eq(tally.overview.messages, 4);
	ck_assert_uint_eq(tally.overview.headline_counts[IVPU_HEADLINE_IPC], 946);
	ck_assert_str_eq(finding(), "");
}
END_TEST

/* A turn has ten jobs with their ends: those of an instant and those of the next one are not mixed up. */
START_TEST(jobs_and_their_ends_come_in_order)
{
	uint64_t time = SECOND;
	for (int i = 0; i < 10; i++) {
		add("ivpu_job_signal_and_destroy", 10, time + 100 * MILLISECOND, time + SECOND - 1);
		add("ivpu_submit_ioctl", 10, time, time + 900 * MILLISECOND);
		add("ivpu_gem_create_object", 40, time, time + 800 * MILLISECOND);
		add("ivpu_gem_bo_free", 40, time, time + 800 * MILLISECOND);
		time += SECOND;
		live_tally_end_turn(&tally, time);
	}
	struct ivpu_tally result = live_tally_result(&tally);
	ck_assert_uint_eq(result.jobs, 100);
	ck_assert_uint_eq(result.jobs_done, 100);
	ck_assert_double_lt(result.longest_job, 1);
	ck_assert_str_eq(finding(), "");
	/* One more that nobody ends. */
	add("ivpu_submit_ioctl", 1, time, time);
	for (int i = 0; i < 7; i++)
		live_tally_end_turn(&tally, time += SECOND);
	ck_assert_str_eq(finding(), "npu-job-hang");
}
END_TEST

START_TEST(buffers_that_stay_are_seen)
{
	uint64_t time = SECOND;
	add("ivpu_gem_bo_free", 1, time, time);
	for (int i = 0; i < 64; i++) {
		add("ivpu_gem_create_object", 10, time, time + 1);
		add("ivpu_submit_ioctl", 1, time + 2, time + 2);
		add("ivpu_job_signal_and_destroy", 1, time + 3, time + 3);
		live_tally_end_turn(&tally, time += SECOND);
	}
	ck_assert_str_eq(finding(), "npu-buffer-growth");
}
END_TEST

/* All of it in one turn: jobs that each leave a buffer behind, and as many buffers that were made before the jobs. */
START_TEST(one_turn_has_an_order_too)
{
	add("ivpu_gem_create_object", 200, SECOND, SECOND + 100 * MILLISECOND);
	add("ivpu_submit_ioctl", 200, SECOND + 101 * MILLISECOND, SECOND + 900 * MILLISECOND);
	add("ivpu_gem_bo_free", 200, SECOND + 901 * MILLISECOND, SECOND + 902 * MILLISECOND);
	live_tally_end_turn(&tally, 2 * SECOND);
	ck_assert_str_eq(finding(), "");
	set_up();
	add("ivpu_gem_create_object", 200, SECOND, SECOND + 899 * MILLISECOND);
	add("ivpu_submit_ioctl", 200, SECOND + 1, SECOND + 900 * MILLISECOND);
	add("ivpu_gem_bo_free", 200, SECOND + 901 * MILLISECOND, SECOND + 902 * MILLISECOND);
	live_tally_end_turn(&tally, 2 * SECOND);
	ck_assert_str_eq(finding(), "npu-buffer-growth");
	ck_assert_uint_eq(live_tally_result(&tally).buffers_max, 200);
}
END_TEST

START_TEST(very_many_events_take_a_bounded_time)
{
	add("ivpu_submit_ioctl", UINT64_C(1) << 40, SECOND, 2 * SECOND);
	add("ivpu_job_signal_and_destroy", UINT64_C(1) << 40, SECOND, 2 * SECOND);
	live_tally_end_turn(&tally, 2 * SECOND);
	ck_assert_uint_eq(live_tally_result(&tally).jobs, UINT64_C(1) << 40);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ivpu_live_tally");
	TCase *tests = tcase_create("ivpu_live_tally");
	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, a_rate_is_that_of_its_time);
	tcase_add_test(tests, polls_while_it_boots_are_no_messages);
	tcase_add_test(tests, jobs_and_their_ends_come_in_order);
	tcase_add_test(tests, buffers_that_stay_are_seen);
	tcase_add_test(tests, one_turn_has_an_order_too);
	tcase_add_test(tests, very_many_events_take_a_bounded_time);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
