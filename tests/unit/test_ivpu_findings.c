/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about the NPU: what is broken in one way raises its finding and no other, what is healthy none. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>

#include "findings.h"

#define SECOND UINT64_C(1000000000)

/* Numbers of a minute of inferences that nobody has to worry about, ten a second. */
static const struct ivpu_tally healthy = {
	.seconds = 60,
	.contexts = 2,
	.messages = 6000,
	.message_rate = 200,
	.usual_rate = 100,
	.ipc_calls = 60000,
	.jobs = 600,
	.jobs_done = 600,
	.sees_done = true,
	.longest_job = 5,
	.page_maps = 8 * 16384,
	.mappings = 200,
	.buffers_created = 100,
	.buffers_freed = 75,
	.sees_freed = true,
	.buffers_max = 25,
	.buffers_first = 25,
	.buffers_half = 57,
	.buffers_last = 89,
	.boots = 4,
	.resumes = 4,
};
static const struct ivpu_limits defaults = IVPU_LIMITS_DEFAULT;

struct found {
	int count;
	struct ivpu_finding last;
};

static void take(void *context, const struct ivpu_finding *finding)
{
	struct found *found = context;
	found->count++;
	found->last = *finding;
}

static struct found judge(const struct ivpu_tally *tally, const struct ivpu_limits *limits)
{
	struct found found = { 0 };
	ivpu_findings(tally, limits, take, &found);
	return found;
}

static void expect(const struct ivpu_tally *tally, const char *name, double value, double threshold)
{
	struct found found = judge(tally, &defaults);
	ck_assert_msg(found.count == 1, "%s: %d findings, the last %s", name, found.count,
		      found.count ? found.last.name : "");
	ck_assert_str_eq(found.last.name, name);
	ck_assert_double_eq_tol(found.last.value, value, 0.001);
	ck_assert_double_eq_tol(found.last.threshold, threshold, 0.001);
	/* A whole sentence, with what to do. */
	ck_assert_uint_lt(strlen(found.last.text), sizeof found.last.text - 1);
	ck_assert_ptr_nonnull(strpbrk(found.last.text, ";:"));
}

START_TEST(healthy_numbers_find_nothing)
{
	ck_assert_int_eq(judge(&healthy, &defaults).count, 0);
	ck_assert_int_eq(judge(&(struct ivpu_tally){ 0 }, &defaults).count, 0);
}
END_TEST

START_TEST(each_broken_number_finds_itself)
{
	struct ivpu_tally tally;
#define BREAK(name, value, threshold, ...)                                                                             \
	tally = healthy;                                                                                               \
	__VA_ARGS__;                                                                                                   \
	expect(&tally, name, value, threshold)
	BREAK("npu-ipc-storm", 201, 200, tally.message_rate = 201);
	BREAK("npu-ipc-burst", 101, 100, tally.message_rate = 101, tally.usual_rate = 10);
	BREAK("npu-ipc-per-job", 10001, 10000, tally.ipc_calls = 6000600);
	BREAK("npu-recovery", 1, 0, tally.recoveries = 1);
	BREAK("npu-reset", 2, 0, tally.resets = 2);
	BREAK("npu-job-hang", 5.5, 5, tally.longest_job = 5.5);
	ck_assert_uint_eq(judge(&tally, &defaults).last.severity, IAPROF_FINDING_PROBLEM);
	BREAK("npu-job-hang", 5.5, 5, tally.longest_job = 5.5, tally.ends_missed = 1);
	ck_assert_uint_eq(judge(&tally, &defaults).last.severity, IAPROF_FINDING_WARNING);
	BREAK("npu-mapping-thrash", 9, 8, tally.mappings = 225);
	BREAK("npu-buffer-growth", 33, 32, tally.buffers_half = 58, tally.buffers_last = 91);
	BREAK("npu-boot-thrash", 301, 5, tally.boots = 301);
	BREAK("npu-boot-thrash", 5, 5, tally.boots = 5, tally.jobs = 9);
}
END_TEST

START_TEST(limits_are_off_at_zero_and_unknown_numbers_are_not_judged)
{
	struct ivpu_tally broken = healthy;
	broken.message_rate = 1000, broken.usual_rate = 1, broken.ipc_calls = UINT64_MAX, broken.longest_job = 1000;
	broken.mappings = UINT64_MAX, broken.buffers_half = 1000, broken.buffers_last = 9000, broken.boots = 600;
	ck_assert_int_eq(judge(&broken, &defaults).count, 6);
	ck_assert_int_eq(judge(&broken, &(struct ivpu_limits){ 0 }).count, 0);
	broken = healthy;
	broken.sees_done = false, broken.longest_job = 1000;
	broken.sees_freed = false, broken.buffers_last = 9000;
	ck_assert_int_eq(judge(&broken, &defaults).count, 0);
}
END_TEST

/* Ten inferences a second, ten messages each, for a minute. */
static void run_inferences(struct ivpu_running *running, uint64_t begin, uint64_t *time, int jobs)
{
	for (int i = 0; i < jobs; i++) {
		ivpu_running_add(running, IVPU_EVENT_SUBMIT, 1, begin + *time);
		for (int j = 0; j < 10; j++)
			ivpu_running_add_messages(running, 1, begin + (*time += SECOND / 100));
		ivpu_running_add(running, IVPU_EVENT_DONE, 1, begin + *time);
	}
}

START_TEST(a_run_is_told_in_numbers)
{
	struct ivpu_running running = { 0 };
	uint64_t begin = 12345, time = 0;
	run_inferences(&running, begin, &time, 600);
	struct ivpu_tally tally = ivpu_running_tally(&running);
	ck_assert_double_eq_tol(tally.seconds, 60, 0.001);
	ck_assert_uint_eq(tally.jobs, 600);
	ck_assert_uint_eq(tally.jobs_done, 600);
	ck_assert_uint_eq(tally.messages, 6000);
	ck_assert_double_eq_tol(tally.message_rate, 100, 1);
	ck_assert_double_eq_tol(tally.usual_rate, 100, 1);
	ck_assert_double_eq_tol(tally.longest_job, 0.1, 0.001);
	ck_assert_int_eq(judge(&tally, &defaults).count, 0);

	/* Then a second with 900 messages. */
	for (int i = 0; i < 900; i++)
		ivpu_running_add_messages(&running, 1, begin + time + (uint64_t)i * SECOND / 1000);
	tally = ivpu_running_tally(&running);
	/* The last message before them came with their second. */
	expect(&tally, "npu-ipc-storm", 901, 200);
}
END_TEST

START_TEST(a_job_without_completion_is_found)
{
	struct ivpu_running running = { 0 };
	uint64_t time = SECOND;
	run_inferences(&running, 0, &time, 10);
	ivpu_running_add(&running, IVPU_EVENT_SUBMIT, 1, time);
	ivpu_running_advance(&running, time + 4 * SECOND);
	struct ivpu_tally tally = ivpu_running_tally(&running);
	ck_assert_int_eq(judge(&tally, &defaults).count, 0);
	ivpu_running_advance(&running, time + 6 * SECOND);
	tally = ivpu_running_tally(&running);
	expect(&tally, "npu-job-hang", 6, 5);
}
END_TEST

START_TEST(buffers_that_are_kept_are_found)
{
	for (int keeps = 0; keeps < 2; keeps++) {
		struct ivpu_running running = { 0 };
		for (int i = 0; i < 300; i++) {
			ivpu_running_add(&running, IVPU_EVENT_BUFFER_CREATE, 1, 0);
			ivpu_running_add(&running, IVPU_EVENT_BUFFER_CREATE, 1, 0);
			ivpu_running_add(&running, IVPU_EVENT_SUBMIT, 1, 0);
			ivpu_running_add(&running, IVPU_EVENT_BUFFER_FREE, keeps ? 1 : 2, 0);
		}
		struct ivpu_tally tally = ivpu_running_tally(&running);
		ck_assert_uint_eq(tally.buffers_first, 2);
		ck_assert_uint_eq(tally.buffers_half, keeps ? 129 : 2);
		ck_assert_uint_eq(tally.buffers_last, keeps ? 301 : 2);
		ck_assert_int_eq(judge(&tally, &defaults).count, keeps);
		if (keeps)
			expect(&tally, "npu-buffer-growth", 127, 32);
	}
}
END_TEST

START_TEST(more_jobs_wait_than_are_watched)
{
	struct ivpu_running running = { 0 };
	uint64_t jobs = TALLY_JOBS_MAX + 100;
	for (uint64_t i = 1; i <= jobs; i++)
		ivpu_running_add(&running, IVPU_EVENT_SUBMIT, 1, i);
	for (uint64_t i = 1; i <= jobs; i++)
		ivpu_running_add(&running, IVPU_EVENT_DONE, 1, jobs + i);
	struct ivpu_tally tally = ivpu_running_tally(&running);
	ck_assert_uint_eq(tally.jobs, jobs);
	ck_assert_uint_eq(tally.jobs_done, jobs);
	ck_assert_double_eq_tol(tally.longest_job, (double)jobs / 1e9, 1e-9);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ivpu findings");
	TCase *test = tcase_create("findings");
	tcase_add_test(test, healthy_numbers_find_nothing);
	tcase_add_test(test, each_broken_number_finds_itself);
	tcase_add_test(test, limits_are_off_at_zero_and_unknown_numbers_are_not_judged);
	tcase_add_test(test, a_run_is_told_in_numbers);
	tcase_add_test(test, a_job_without_completion_is_found);
	tcase_add_test(test, buffers_that_are_kept_are_found);
	tcase_add_test(test, more_jobs_wait_than_are_watched);
	suite_add_tcase(suite, test);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
