/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about the NPU: what is broken in one way raises its finding and no other, what is healthy none. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <iaprof/record.h>

#include "npu/findings.h"
#include "../run_suite.h"

#define SECOND UINT64_C(1000000000)

/* Numbers of a minute of inferences that nobody has to worry about, ten a second. */
static const struct ivpu_statistics healthy = {
	.seconds = 60,
	.contexts = 2,
	.messages.count = 6000,
	.messages.rate = 200,
	.messages.usual_rate = 100,
	.messages.ipc_calls = 60000,
	.jobs.count = 600,
	.jobs.done = 600,
	.jobs.sees_done = true,
	.jobs.longest = 5,
	.mappings.pages = 8 * 16384,
	.mappings.count = 200,
	.buffers.created = 100,
	.buffers.freed = 75,
	.buffers.sees_freed = true,
	.buffers.maximum = 25,
	.buffers.first = 25,
	.buffers.half = 57,
	.buffers.last = 89,
	.boots.count = 4,
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

static struct found judge(const struct ivpu_statistics *statistics, const struct ivpu_limits *limits)
{
	struct found found = { 0 };
	ivpu_findings(statistics, limits, take, &found);
	return found;
}

static void expect(const struct ivpu_statistics *statistics, const char *name, double value, double threshold)
{
	struct found found = judge(statistics, &defaults);
	ck_assert_msg(found.count == 1, "%s: %d findings, the last %s", name, found.count,
		      found.count ? found.last.name : "");
	ck_assert_str_eq(found.last.name, name);
	ck_assert_double_eq_tol(found.last.value, value, 0.001);
	ck_assert_double_eq_tol(found.last.threshold, threshold, 0.001);
	/* A whole sentence, with what to do. */
	ck_assert_uint_lt(strlen(found.last.text), sizeof found.last.text - 1);
	ck_assert_ptr_nonnull(strpbrk(found.last.text, "(:"));
}

TEST(healthy_numbers_find_nothing)
{
	ck_assert_int_eq(judge(&healthy, &defaults).count, 0);
	ck_assert_int_eq(judge(&(struct ivpu_statistics){ 0 }, &defaults).count, 0);
}

TEST(each_broken_number_finds_itself)
{
	struct ivpu_statistics statistics;
#define BREAK(name, value, threshold, ...)                                                                             \
	statistics = healthy;                                                                                          \
	__VA_ARGS__;                                                                                                   \
	expect(&statistics, name, value, threshold)
	BREAK("npu-ipc-storm", 201, 200, statistics.messages.rate = 201);
	BREAK("npu-ipc-burst", 101, 100, statistics.messages.rate = 101, statistics.messages.usual_rate = 10);
	BREAK("npu-ipc-per-job", 10001, 10000, statistics.messages.ipc_calls = 6000600);
	BREAK("npu-recovery", 1, 0, statistics.recoveries = 1);
	BREAK("npu-reset", 2, 0, statistics.resets = 2);
	BREAK("npu-job-hang", 5.5, 5, statistics.jobs.longest = 5.5);
	ck_assert_uint_eq(judge(&statistics, &defaults).last.severity, IAPROF_FINDING_PROBLEM);
	BREAK("npu-job-hang", 5.5, 5, statistics.jobs.longest = 5.5, statistics.jobs.ends_missed = 1);
	ck_assert_uint_eq(judge(&statistics, &defaults).last.severity, IAPROF_FINDING_WARNING);
	BREAK("npu-mapping-thrash", 9, 8, statistics.mappings.count = 225);
	BREAK("npu-buffer-growth", 33, 32, statistics.buffers.half = 58, statistics.buffers.last = 91);
	BREAK("npu-boot-thrash", 301, 5, statistics.boots.count = 301);
	BREAK("npu-boot-thrash", 5, 5, statistics.boots.count = 5, statistics.jobs.count = 9);
}

/* Who is known is named, with the option of the limit and what is usual. */
TEST(findings_name_who)
{
	struct ivpu_statistics statistics = healthy;
	snprintf(statistics.names.buffers, sizeof statistics.names.buffers, "matmul (7)");
	snprintf(statistics.names.longest_job, sizeof statistics.names.longest_job, "job 5 of matmul (7), context 2");
	statistics.jobs.longest = 20, statistics.jobs.usual = 0.0005;
	struct found found = judge(&statistics, &defaults);
	ck_assert_str_eq(
		found.last.text,
		"job 5 of matmul (7), context 2 did not complete within 20.0 s (limit hang=5s; the others took "
		"500 us on average): the NPU hangs, or the job takes that long (see dmesg for a timeout, or raise "
		"hang=)");
	statistics.jobs.longest = 1;
	statistics.buffers.half = 58, statistics.buffers.last = 91;
	found = judge(&statistics, &defaults);
	ck_assert_ptr_eq(strstr(found.last.text, "matmul (7): the number of buffers grew by 33 and by 33 "),
			 found.last.text);
	ck_assert_ptr_nonnull(strstr(found.last.text, "(limit buffer-growth=32 each)"));
}

TEST(a_cold_start_is_a_note)
{
	struct ivpu_statistics statistics = { .seconds = 1,
					      .jobs.count = 7,
					      .boots.count = 1,
					      .boots.knows_time = true,
					      .boots.seconds = 0.01,
					      .mappings.seconds = 0.02,
					      .jobs.seconds = 0.24 };
	expect(&statistics, "npu-cold-start", 100.0 / 9, 10);
	ck_assert_uint_eq(judge(&statistics, &defaults).last.severity, IAPROF_FINDING_NOTE);
	statistics.jobs.seconds = 0.28;
	ck_assert_int_eq(judge(&statistics, &defaults).count, 0);
	statistics.jobs.seconds = 0.24, statistics.jobs.count = 8;
	ck_assert_int_eq(judge(&statistics, &defaults).count, 0);
	statistics.jobs.count = 7, statistics.jobs.seconds = 0;
	ck_assert_int_eq(judge(&statistics, &defaults).count, 0);
}

/* Where page maps are not traced, pages are those of mapped buffers of average size. */
TEST(pages_are_estimated_from_mappings)
{
	struct ivpu_statistics statistics = { .jobs.count = 40,
					      .buffers.created = 40,
					      .buffers.bytes = UINT64_C(40) << 21,
					      .buffers.maximum = 40,
					      .mappings.count = 40,
					      .mappings.submit_count = 40,
					      .jobs.median = { .mappings = 1 } };
	expect(&statistics, "npu-map-at-submit", 512, 256);
	ck_assert_ptr_nonnull(strstr(judge(&statistics, &defaults).last.text, "about 512 pages"));
	statistics.mappings.submit_count = 19;
	ck_assert_int_eq(judge(&statistics, &defaults).count, 0);
	statistics.mappings.submit_count = 40;
	statistics.buffers.bytes = UINT64_C(40) << 20;
	ck_assert_int_eq(judge(&statistics, &defaults).count, 0);
	statistics.buffers.created = 0;
	ck_assert_int_eq(judge(&statistics, &defaults).count, 0);
}

TEST(limits_are_off_at_zero_and_unknown_numbers_are_not_judged)
{
	struct ivpu_statistics broken = healthy;
	broken.messages.rate = 1000, broken.messages.usual_rate = 1, broken.messages.ipc_calls = UINT64_MAX,
	broken.jobs.longest = 1000;
	broken.mappings.count = UINT64_MAX, broken.buffers.half = 1000, broken.buffers.last = 9000,
	broken.boots.count = 600;
	ck_assert_int_eq(judge(&broken, &defaults).count, 6);
	ck_assert_int_eq(judge(&broken, &(struct ivpu_limits){ 0 }).count, 0);
	broken = healthy;
	broken.jobs.sees_done = false, broken.jobs.longest = 1000;
	broken.buffers.sees_freed = false, broken.buffers.last = 9000;
	ck_assert_int_eq(judge(&broken, &defaults).count, 0);
}

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

TEST(a_run_is_reported_in_numbers)
{
	struct ivpu_running running = { 0 };
	uint64_t begin = 12345, time = 0;
	run_inferences(&running, begin, &time, 600);
	struct ivpu_statistics statistics = ivpu_running_statistics(&running);
	ck_assert_double_eq_tol(statistics.seconds, 60, 0.001);
	ck_assert_uint_eq(statistics.jobs.count, 600);
	ck_assert_uint_eq(statistics.jobs.done, 600);
	ck_assert_uint_eq(statistics.messages.count, 6000);
	ck_assert_double_eq_tol(statistics.messages.rate, 100, 1);
	ck_assert_double_eq_tol(statistics.messages.usual_rate, 100, 1);
	ck_assert_double_eq_tol(statistics.jobs.longest, 0.1, 0.001);
	ck_assert_int_eq(judge(&statistics, &defaults).count, 0);

	/* Then a second with 900 messages. */
	for (int i = 0; i < 900; i++)
		ivpu_running_add_messages(&running, 1, begin + time + (uint64_t)i * SECOND / 1000);
	statistics = ivpu_running_statistics(&running);
	/* The last message before them came with their second. */
	expect(&statistics, "npu-ipc-storm", 901, 200);
}

TEST(a_job_without_completion_is_found)
{
	struct ivpu_running running = { 0 };
	uint64_t time = SECOND;
	run_inferences(&running, 0, &time, 10);
	ivpu_running_add(&running, IVPU_EVENT_SUBMIT, 1, time);
	ivpu_running_advance(&running, time + 4 * SECOND);
	struct ivpu_statistics statistics = ivpu_running_statistics(&running);
	ck_assert_int_eq(judge(&statistics, &defaults).count, 0);
	ivpu_running_advance(&running, time + 6 * SECOND);
	statistics = ivpu_running_statistics(&running);
	expect(&statistics, "npu-job-hang", 6, 5);
}

TEST(buffers_that_are_kept_are_found)
{
	for (int keeps = 0; keeps < 2; keeps++) {
		struct ivpu_running running = { 0 };
		for (int i = 0; i < 300; i++) {
			ivpu_running_add(&running, IVPU_EVENT_BUFFER_CREATE, 1, 0);
			ivpu_running_add(&running, IVPU_EVENT_BUFFER_CREATE, 1, 0);
			ivpu_running_add(&running, IVPU_EVENT_SUBMIT, 1, 0);
			ivpu_running_add(&running, IVPU_EVENT_BUFFER_FREE, keeps ? 1 : 2, 0);
		}
		struct ivpu_statistics statistics = ivpu_running_statistics(&running);
		ck_assert_uint_eq(statistics.buffers.first, 2);
		ck_assert_uint_eq(statistics.buffers.half, keeps ? 129 : 2);
		ck_assert_uint_eq(statistics.buffers.last, keeps ? 301 : 2);
		ck_assert_int_eq(judge(&statistics, &defaults).count, keeps);
		if (keeps)
			expect(&statistics, "npu-buffer-growth", 127, 32);
	}
}

TEST(more_jobs_wait_than_are_watched)
{
	struct ivpu_running running = { 0 };
	uint64_t jobs = STATISTICS_JOBS_MAX + 100;
	for (uint64_t i = 1; i <= jobs; i++)
		ivpu_running_add(&running, IVPU_EVENT_SUBMIT, 1, i);
	for (uint64_t i = 1; i <= jobs; i++)
		ivpu_running_add(&running, IVPU_EVENT_DONE, 1, jobs + i);
	struct ivpu_statistics statistics = ivpu_running_statistics(&running);
	ck_assert_uint_eq(statistics.jobs.count, jobs);
	ck_assert_uint_eq(statistics.jobs.done, jobs);
	ck_assert_double_eq_tol(statistics.jobs.longest, (double)jobs / 1e9, 1e-9);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
