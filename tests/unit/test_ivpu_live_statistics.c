/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that come in sums, a turn at a time: the statistics has what happened, and no rate that there was not. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "npu/findings.h"
#include "live_statistics.h"
#include "../run_suite.h"

#define SECOND UINT64_C(1000000000)
#define MILLISECOND UINT64_C(1000000)

static struct live_statistics statistics;
static const struct ivpu_limits defaults = IVPU_LIMITS_DEFAULT;

static void set_up(void)
{
	statistics = (struct live_statistics){ 0 };
	live_statistics_begin(&statistics, SECOND);
}

static void add(const char *function, uint64_t count, uint64_t first, uint64_t last)
{
	live_statistics_add(&statistics, ivpu_function_find(function), count, first, last, false);
}

static void take(void *context, const struct ivpu_finding *finding)
{
	strcpy(context, finding->name);
}

/* The last finding, "" for none. */
static const char *finding(void)
{
	static char name[64];
	struct ivpu_statistics result = live_statistics_result(&statistics);
	*name = '\0';
	ivpu_findings(&result, &defaults, take, name);
	return name;
}

/* 150 messages a second in turns that come early and late: two of them are in one second of any clock. */
TEST(a_rate_is_that_of_its_time)
{
	uint64_t time = SECOND;
	for (int i = 0; i < 40; i++) {
		uint64_t length = i % 2 ? 996 * MILLISECOND : 1004 * MILLISECOND;
		time += length;
		add("ivpu_ipc_irq_handler", 150 * length / SECOND, time - length, time - 1);
		live_statistics_end_turn(&statistics, time);
	}
	struct ivpu_statistics result = live_statistics_result(&statistics);
	ck_assert_double_eq_tol(result.messages.rate, 150, 2);
	ck_assert_double_eq_tol(result.messages.usual_rate, 150, 2);
	ck_assert_uint_eq(result.messages.count, 20 * (149 + 150));
	ck_assert_str_eq(finding(), "");
	/* Short turns are put together. */
	for (int i = 0; i < 30; i++) {
		time += 100 * MILLISECOND;
		add("ivpu_ipc_irq_handler", 15, time - 1, time - 1);
		live_statistics_end_turn(&statistics, time);
	}
	ck_assert_str_eq(finding(), "");
	add("ivpu_ipc_irq_handler", 1000, time, time + 1);
	live_statistics_end_turn(&statistics, time + 200 * MILLISECOND);
	ck_assert_str_eq(finding(), "npu-ipc-storm");
	ck_assert_uint_eq(live_statistics_result(&statistics).messages.count, 20 * (149 + 150) + 30 * 15 + 1000);
}

TEST(polls_while_it_boots_are_no_messages)
{
	live_statistics_add(&statistics, ivpu_function_find("ivpu_ipc_irq_handler"), 942, SECOND, SECOND + 1, true);
	add("ivpu_ipc_irq_handler", 4, 2 * SECOND, 2 * SECOND);
	add("ivpu_boot", 1, SECOND, SECOND);
	live_statistics_end_turn(&statistics, 2 * SECOND);
	ck_assert_uint_eq(statistics.overview.calls, 947);
	ck_assert_uint_eq(live_statistics_result(&statistics).boots.polls, 942);
	ck_assert_uint_eq(live_statistics_result(&statistics).messages.count, 4);
	ck_assert_uint_eq(statistics.overview.family_counts[IVPU_FAMILY_IPC], 946);
	ck_assert_str_eq(finding(), "");
}

/* A turn has ten jobs with their ends: those of an instant and those of the next one are not mixed up. */
TEST(jobs_and_their_ends_come_in_order)
{
	uint64_t time = SECOND;
	for (int i = 0; i < 10; i++) {
		add("ivpu_job_signal_and_destroy", 10, time + 100 * MILLISECOND, time + SECOND - 1);
		add("ivpu_submit_ioctl", 10, time, time + 900 * MILLISECOND);
		add("ivpu_gem_create_object", 40, time, time + 800 * MILLISECOND);
		add("ivpu_gem_bo_free", 40, time, time + 800 * MILLISECOND);
		time += SECOND;
		live_statistics_end_turn(&statistics, time);
	}
	struct ivpu_statistics result = live_statistics_result(&statistics);
	ck_assert_uint_eq(result.jobs.count, 100);
	ck_assert_uint_eq(result.jobs.done, 100);
	ck_assert_double_lt(result.jobs.longest, 1);
	ck_assert_str_eq(finding(), "");
	/* One more that nobody ends. */
	add("ivpu_submit_ioctl", 1, time, time);
	for (int i = 0; i < 7; i++)
		live_statistics_end_turn(&statistics, time += SECOND);
	ck_assert_str_eq(finding(), "npu-job-hang");
}

TEST(buffers_that_stay_are_seen)
{
	uint64_t time = SECOND;
	add("ivpu_gem_bo_free", 1, time, time);
	for (int i = 0; i < 64; i++) {
		add("ivpu_gem_create_object", 10, time, time + 1);
		add("ivpu_submit_ioctl", 1, time + 2, time + 2);
		add("ivpu_job_signal_and_destroy", 1, time + 3, time + 3);
		live_statistics_end_turn(&statistics, time += SECOND);
	}
	ck_assert_str_eq(finding(), "npu-buffer-growth");
}

/* All of it in one turn: jobs that each leave a buffer behind, and as many buffers that were made before the jobs. */
TEST(one_turn_has_an_order_too)
{
	add("ivpu_gem_create_object", 200, SECOND, SECOND + 100 * MILLISECOND);
	add("ivpu_submit_ioctl", 200, SECOND + 101 * MILLISECOND, SECOND + 900 * MILLISECOND);
	add("ivpu_gem_bo_free", 200, SECOND + 901 * MILLISECOND, SECOND + 902 * MILLISECOND);
	live_statistics_end_turn(&statistics, 2 * SECOND);
	ck_assert_str_eq(finding(), "");
	set_up();
	add("ivpu_gem_create_object", 200, SECOND, SECOND + 899 * MILLISECOND);
	add("ivpu_submit_ioctl", 200, SECOND + 1, SECOND + 900 * MILLISECOND);
	add("ivpu_gem_bo_free", 200, SECOND + 901 * MILLISECOND, SECOND + 902 * MILLISECOND);
	live_statistics_end_turn(&statistics, 2 * SECOND);
	ck_assert_str_eq(finding(), "npu-buffer-growth");
	ck_assert_uint_eq(live_statistics_result(&statistics).buffers.maximum, 200);
}

TEST(very_many_events_take_a_bounded_time)
{
	add("ivpu_submit_ioctl", UINT64_C(1) << 40, SECOND, 2 * SECOND);
	add("ivpu_job_signal_and_destroy", UINT64_C(1) << 40, SECOND, 2 * SECOND);
	live_statistics_end_turn(&statistics, 2 * SECOND);
	ck_assert_uint_eq(live_statistics_result(&statistics).jobs.count, UINT64_C(1) << 40);
}

static void add_job(uint32_t owner, uint64_t begin, uint64_t end)
{
	live_statistics_add_job(&statistics, &(struct live_job){ .time = begin, .owner = owner });
	live_statistics_add_job(&statistics, &(struct live_job){ .time = end, .has_ended = true });
}

/* Jobs that are known one by one: their owners take turns, and calls that indicate them do not count. */
TEST(jobs_of_two_owners_take_turns)
{
	statistics.knows_jobs = true;
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t begin = SECOND + i * 10 * MILLISECOND;
		add_job(7 + i % 2, begin, begin + 15 * MILLISECOND);
	}
	add("ivpu_submit_ioctl", 100, SECOND, 2 * SECOND);
	live_statistics_end_turn(&statistics, 3 * SECOND);
	struct ivpu_statistics result = live_statistics_result(&statistics);
	ck_assert_uint_eq(result.jobs.count, 100);
	ck_assert_uint_eq(result.jobs.done, 100);
	ck_assert_uint_eq(result.jobs.turns, 99);
	ck_assert_uint_eq(result.jobs.turns_waited, 99);
	ck_assert(result.jobs.knows_owners);
	ck_assert_double_eq_tol(result.jobs.longest, 0.015, 1e-9);
	ck_assert_str_eq(finding(), "npu-taking-turns");
	live_statistics_free(&statistics);
}

/* The same jobs, each of which ends before the other owner's begins. */
TEST(jobs_that_do_not_wait_take_no_turns)
{
	statistics.knows_jobs = true;
	for (uint64_t i = 0; i < 100; i++)
		add_job(7 + i % 2, SECOND + i * 10 * MILLISECOND, SECOND + i * 10 * MILLISECOND + 9 * MILLISECOND);
	live_statistics_end_turn(&statistics, 3 * SECOND);
	ck_assert_uint_eq(live_statistics_result(&statistics).jobs.turns_waited, 0);
	ck_assert_str_eq(finding(), "");
	live_statistics_free(&statistics);
}

/* Each of 20 jobs maps three buffers of 100 pages; the last turn has only mappings of the last job. */
TEST(work_belongs_to_its_job)
{
	statistics.knows_jobs = true;
	for (uint64_t i = 0; i < 20; i++)
		add_job(7, SECOND + i * 10 * MILLISECOND, SECOND + i * 10 * MILLISECOND + MILLISECOND);
	uint64_t last = SECOND + 190 * MILLISECOND;
	add("ivpu_mmu_context_map_sgt", 60, SECOND + 1, last + 7 * MILLISECOND);
	add("ivpu_mmu_context_map_page", 6000, SECOND + 1, last + 9 * MILLISECOND);
	add("ivpu_ipc_irq_handler", 20, SECOND + MILLISECOND, last + MILLISECOND);
	live_statistics_end_turn(&statistics, 2 * SECOND);
	struct ivpu_statistics result = live_statistics_result(&statistics);
	ck_assert_uint_eq(result.mappings.count, 60);
	ck_assert_uint_eq(result.mappings.pages, 6000);
	ck_assert_uint_eq(result.jobs.median.mappings, 3);
	ck_assert_uint_ge(result.jobs.median.pages, 298);
	ck_assert_uint_le(result.jobs.median.pages, 302);
	ck_assert_uint_eq(result.jobs.median.messages, 1);
	live_statistics_free(&statistics);
}

/* Of two bursts of jobs with a pause, each job has as much work. A turn's first mappings are of the job before it. */
TEST(work_comes_in_bursts)
{
	statistics.knows_jobs = true;
	add_job(7, SECOND - 2, SECOND - 1);
	live_statistics_end_turn(&statistics, SECOND);
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t begin = SECOND + (i < 10 ? 100 : 800) * MILLISECOND + i * MILLISECOND;
		add_job(7, begin, begin + MILLISECOND / 2);
	}
	add("ivpu_mmu_context_map_sgt", 2 * 21, SECOND + 10 * MILLISECOND, SECOND + 820 * MILLISECOND);
	live_statistics_end_turn(&statistics, 2 * SECOND);
	struct ivpu_statistics result = live_statistics_result(&statistics);
	ck_assert_uint_eq(result.mappings.count, 42);
	ck_assert_uint_eq(result.jobs.median.mappings, 2);
	for (uint32_t i = 0; i < statistics.running.sample_count; i++)
		ck_assert_uint_eq(statistics.running.samples[i].mappings, 2);
	ck_assert_uint_ge(statistics.running.sample_count, 20);
	live_statistics_free(&statistics);
}

/* Jobs that do not fit are counted, and memory is bounded. */
TEST(jobs_beyond_the_limit_are_counted)
{
	statistics.knows_jobs = true;
	for (uint64_t i = 0; i < LIVE_JOBS_MAX; i++)
		add_job(7, SECOND + i, SECOND + i + 1);
	ck_assert_uint_eq(statistics.jobs.count, LIVE_JOBS_MAX);
	live_statistics_end_turn(&statistics, 2 * SECOND);
	ck_assert_uint_eq(live_statistics_result(&statistics).jobs.count, LIVE_JOBS_MAX);
	ck_assert_uint_eq(live_statistics_result(&statistics).jobs.done, LIVE_JOBS_MAX);
	live_statistics_free(&statistics);
}

/* A job of a kind of work, of which there are 40 in a second. */
struct work {
	const char *finding;
	uint32_t created, mapped, pages, freed; /* by each job; pages of a buffer */
	uint32_t pool;                          /* buffers before the first job */
	uint32_t owners;
	uint64_t length; /* of a job */
};

static struct ivpu_running each;

/* Adds calls to a text trace's statistics one by one, and to those of a live run. */
static void add_both(const char *function, uint64_t count, uint64_t time)
{
	enum ivpu_event event = ivpu_function_find(function)->event;
	for (uint64_t i = 0; i < count; i++)
		ivpu_running_add(&each, event, 1, time + i);
	if (count)
		add(function, count, time, time + count - 1);
	if (event == IVPU_EVENT_MAPPING || event == IVPU_EVENT_PAGE_MAP) {
		ivpu_running_add_in_submit(&each, event, count);
		ivpu_running_add_in_submit(&statistics.running, event, count);
	}
}

static void add_both_ends(uint64_t time)
{
	ivpu_running_add(&each, IVPU_EVENT_DONE, 1, time);
	live_statistics_add_job(&statistics, &(struct live_job){ .time = time, .has_ended = true });
}

static void work_run(const struct work *work)
{
	uint64_t period = SECOND / 40, ends = 0;
	each = (struct ivpu_running){ 0 };
	set_up();
	statistics.knows_jobs = true;
	add_both("ivpu_gem_create_object", work->pool, SECOND);
	for (uint64_t i = 0; i < 200; i++) {
		uint64_t time = 2 * SECOND + i * period;
		for (; ends < i && 2 * SECOND + ends * period + work->length <= time; ends++)
			add_both_ends(2 * SECOND + ends * period + work->length);
		add_both("ivpu_gem_create_object", work->created, time);
		ivpu_running_submit(&each, 7 + (uint32_t)i % work->owners, time + 1000);
		live_statistics_add_job(&statistics, &(struct live_job){ .time = time + 1000,
									 .owner = 7 + (uint32_t)i % work->owners });
		add_both("ivpu_mmu_context_map_sgt", work->mapped, time + 2000);
		add_both("ivpu_mmu_context_map_page", (uint64_t)work->mapped * work->pages, time + 3000);
		add_both("ivpu_gem_bo_free", work->freed, time + period / 2);
		/* Turns of the length of some jobs. */
		if (i % 7 == 6)
			live_statistics_end_turn(&statistics, time + period - 1);
	}
	for (; ends < 200; ends++)
		add_both_ends(2 * SECOND + ends * period + work->length);
	add_both("ivpu_gem_bo_free", 1, 8 * SECOND);
	live_statistics_end_turn(&statistics, 9 * SECOND);
}

/* The same events, one by one as in a text trace and in turns as in a live run, have the same findings. */
TEST(both_ways_find_the_same)
{
	static const struct work works[] = {
		{ .finding = "", .pool = 4, .owners = 1, .length = MILLISECOND },
		{ .finding = "npu-mapping-thrash",
		  .created = 4,
		  .mapped = 4,
		  .pages = 16,
		  .freed = 4,
		  .owners = 1,
		  .length = MILLISECOND },
		{ .finding = "npu-buffer-growth",
		  .created = 1,
		  .mapped = 1,
		  .pages = 8,
		  .owners = 1,
		  .length = MILLISECOND },
		{ .finding = "npu-map-at-submit",
		  .pool = 200,
		  .mapped = 1,
		  .pages = 512,
		  .owners = 1,
		  .length = MILLISECOND },
		{ .finding = "npu-taking-turns", .pool = 4, .owners = 2, .length = 40 * MILLISECOND },
		{ .finding = "", .pool = 4, .owners = 2, .length = 20 * MILLISECOND },
		{ .finding = "npu-job-hang", .pool = 4, .owners = 1, .length = 6 * SECOND },
	};
	for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
		char found[64] = "";
		work_run(&works[i]);
		struct ivpu_statistics one_by_one = ivpu_running_statistics(&each);
		ivpu_findings(&one_by_one, &defaults, take, found);
		ck_assert_msg(!strcmp(found, works[i].finding), "%zu one by one: %s", i, found);
		ck_assert_msg(!strcmp(finding(), works[i].finding), "%zu in turns: %s", i, finding());
		live_statistics_free(&statistics);
	}
}

/* A boot a second that takes 20 ms is not a loop; one that takes 200 ms is. */
TEST(boots_for_rare_jobs_are_healthy)
{
	static const struct {
		uint64_t length;
		const char *name;
	} runs[] = { { 20 * MILLISECOND, "" }, { 200 * MILLISECOND, "npu-boot-thrash" } };
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		set_up();
		for (uint64_t time = SECOND; time < 11 * SECOND; time += SECOND) {
			add("ivpu_boot", 1, time, time);
			add("ivpu_submit_ioctl", 1, time, time);
			ivpu_running_add_boots(&statistics.running, runs[i].length, 1);
			live_statistics_end_turn(&statistics, time + SECOND);
		}
		ck_assert_str_eq(finding(), runs[i].name);
		ck_assert_double_eq_tol(live_statistics_result(&statistics).boots.seconds,
					10 * (double)runs[i].length / SECOND, 1e-9);
	}
}

int main(void)
{
	return run_all_tests(0, set_up, NULL);
}
