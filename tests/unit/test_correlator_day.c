/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight hours of samples in simulated time: intervals of a tenth of a second without end, modules that are loaded
 * again, short programs, stacks that come and go. Memory is bounded by what is distinct, so the last hour takes no more
 * than the second one did; and at the end every sample is in the profile. Modules and programs come as often as in a
 * day.
 */
#include <check.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/sanitizer.h"
#include "correlator_history.h"
#include "../run_suite.h"

#define HOUR (3600 * SECOND)
#define INTERVAL (SECOND / 10)
/* A sanitizer keeps the memory itself, so that there is nothing to measure, and takes its time. */
#define HOURS (HAS_SANITIZER ? 1 : 8)
/* Beside what is counted: tables grow by doubling, and a table may be about to when the day begins. */
#define SLACK ((size_t)256 << 10)

static uint32_t load_modules(uint64_t time)
{
	uint32_t first = 0;
	for (uint64_t i = 0; i < 8; i++) {
		char name[] = "kernel_?";
		name[7] = (char)('a' + i);
		uint32_t kernel = take_kernel(10, name, BASE + i * 0x1000, time);
		first = first ? first : kernel;
	}
	return first;
}

/* A program of a few seconds, at the addresses of the other one. */
static void run_short_program(uint32_t pid, uint64_t time)
{
	take_process(pid, IAPROF_PROCESS_FORK, "short", time);
	uint32_t kernel = take_kernel(pid, "brief", BASE + 0x20000, time + INTERVAL);
	take_launches(pid, kernel, 'z', 3, time + INTERVAL, time + 2 * INTERVAL);
	take_activity(pid, IAPROF_ACTIVITY_SCHEDULER, INTERVAL / 4, NULL, time + INTERVAL, time + 2 * INTERVAL);
	take_relative(0x20010, 3, time + INTERVAL, time + 2 * INTERVAL);
	take_process(pid, IAPROF_PROCESS_EXIT, "", time + 2 * SECOND);
}

static void run_second(uint64_t time, uint32_t first_kernel)
{
	uint64_t second = time / SECOND;
	for (uint64_t i = 0; i < 10; i++) {
		uint64_t from = time + i * INTERVAL, to = from + INTERVAL;
		uint32_t kernel = (uint32_t)((second + i) % 8);
		take_activity(10, IAPROF_ACTIVITY_SCHEDULER, INTERVAL / 2, NULL, from, to);
		take_launches(10, first_kernel + kernel, (char)('a' + second % 20), 5, from, to);
		take_relative(kernel * 0x1000 + (second % 16) * 16, 7, from, to);
		take_relative(0x90000 + (second % 32) * 16, 1, from, to); /* of nobody's code */
	}
	tell(time + SECOND);
	synchronize(time + SECOND);
	/* A capture would take these results. */
	for (struct block *block = collector_take_results(collector), *next; block; block = next) {
		next = block->next;
		block_release(block);
	}
}

TEST(the_last_hour_takes_no_more_memory_than_the_second)
{
	uint32_t first_kernel = 0;
	size_t early = 0, late = 0;
	for (uint64_t time = 0; time < HOURS * HOUR; time += SECOND) {
		if (time % (200 * SECOND) == 0)
			first_kernel = load_modules(time);
		if (time % (20 * SECOND) == 0)
			run_short_program(1000 + (uint32_t)(time / SECOND / 20 % 60), time);
		run_second(time, first_kernel);
		if (time == 2 * HOUR)
			early = mallinfo2().uordblks;
	}
	late = mallinfo2().uordblks; /* 0, as is early, where a sanitizer keeps the memory */
	collector_finish(collector);
	ck_assert_uint_eq(sum("-"), samples_in);
	ck_assert_uint_gt(samples_in, HOURS * 400000);
	ck_assert_msg(late <= early + SLACK, "%zu bytes after two hours, %zu at the end", early, late);
	struct device_samples became = statistics();
	ck_assert_uint_eq(became.ambiguous, 0);
	ck_assert_uint_eq(sum("-;[unknown device code]"), became.unmatched);
	ck_assert_uint_eq(sum("short;site_z;-;brief"), (uint64_t)HOURS * 180 * 6);
}

int main(void)
{
	/* Times are kept up to a bound of their own, a million sums: see time_table.h and test_times.c. */
	history_resolution = 0;
	return run_all_tests(240, set_up, tear_down);
}
