/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of samples in the profile: names, limits per process, and stacks that a sink wants merged. */
#include <check.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/thread_table.h"
#include "collector_records.h"
#include "../run_suite.h"

#define PID 10

static void take_thread_of_size(uint32_t tid, const char *name, size_t size)
{
	uint64_t address = 0x1000;
	struct iaprof_record_sample record = { .pid = PID,
					       .tid = tid,
					       .thread_name = name ? text(name) : 0,
					       .user_stack = intern_stack(intern, PID, &address, 1),
					       .value_type = 42,
					       .count = 1,
					       .value = 1,
					       .first_time = SECOND };
	take(&record, IAPROF_RECORD_SAMPLE, size, SECOND);
}

static void take_thread(uint32_t tid, const char *name)
{
	take_thread_of_size(tid, name, sizeof(struct iaprof_record_sample));
}

static void start(bool threads)
{
	collector = collector_new(&(struct collector_options){ .intern = intern, .pids = threads, .threads = threads });
	ck_assert_ptr_nonnull(collector);
	take_cpu_type(0);
	take_process(PID, IAPROF_PROCESS_EXISTING, "program", SECOND);
}

static void set_up(void)
{
	intern = intern_new(NULL);
	ck_assert_ptr_nonnull(intern);
}

/* Returns the value of a thread, and sets *stacks to the number of all stacks with values. name: NULL: not known. */
static uint64_t value_of(uint32_t tid, const char *name, size_t *stacks)
{
	struct snapshot *snapshot = collector_snapshot(collector, true);
	const struct iaprof_profile *profile = &snapshot->profile;
	uint64_t sum = 0;
	*stacks = profile->value_count;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		struct iaprof_stack_origin origin = iaprof_profile_stack(profile, value->stack)->origin;
		ck_assert_ptr_null(origin.device);
		if (origin.tid == tid && (name ? origin.thread && !strcmp(origin.thread, name) : !origin.thread))
			sum += value->value;
	}
	snapshot_release(snapshot);
	return sum;
}

TEST_LOOP(threads_are_separate_on_request, 0, 2)
{
	size_t stacks;
	start(_i);
	take_thread(11, "reader");
	take_thread(11, "reader");
	take_thread(12, "writer");
	take_thread(0, NULL);
	collector_finish(collector);
	ck_assert_uint_eq(value_of(11, "reader", &stacks), _i ? 2 : 0);
	ck_assert_uint_eq(value_of(12, "writer", &stacks), _i ? 1 : 0);
	ck_assert_uint_eq(value_of(0, NULL, &stacks), _i ? 1 : 4);
	ck_assert_uint_eq(stacks, _i ? 3 : 1);
}

/* A source that knows only ids has the names that others know. A thread that changes its name is two. */
TEST(names_are_the_newest)
{
	size_t stacks;
	start(true);
	take_thread(11, NULL);
	take_thread(11, "before");
	take_thread(11, NULL);
	take_thread(11, "after");
	take_thread(11, NULL);
	take_thread(11, NULL);
	collector_finish(collector);
	ck_assert_uint_eq(value_of(11, NULL, &stacks), 1);
	ck_assert_uint_eq(value_of(11, "before", &stacks), 2);
	ck_assert_uint_eq(value_of(11, "after", &stacks), 3);
}

TEST(names_change_back)
{
	size_t stacks;
	start(true);
	for (int i = 0; i < 3; i++) {
		take_thread(11, i % 2 ? "after" : "before");
		take_thread(11, NULL);
	}
	collector_finish(collector);
	ck_assert_uint_eq(value_of(11, "before", &stacks), 4);
	ck_assert_uint_eq(value_of(11, "after", &stacks), 2);
	ck_assert_uint_eq(stacks, 2);
}

TEST(every_sample_without_its_thread_is_counted)
{
	size_t stacks;
	start(true);
	for (uint32_t i = 0; i < THREAD_TABLE_THREADS_MAX; i++)
		take_thread(100 + i, "worker");
	for (int i = 0; i < 3; i++)
		take_thread(11, "late");
	collector_finish(collector);
	ck_assert_uint_eq(value_of(0, "late", &stacks), 3);
	ck_assert_uint_eq(collector_statistics(collector).threads_merged, 3);
}

/* Sources that were built with an earlier version send shorter records: what follows them is not the name. */
TEST(a_shorter_record_has_no_name)
{
	size_t stacks;
	start(true);
	take_thread_of_size(11, "not part of it", offsetof(struct iaprof_record_sample, thread_name));
	collector_finish(collector);
	ck_assert_uint_eq(value_of(11, NULL, &stacks), 1);
}

TEST(threads_beyond_the_limit_are_merged_by_name)
{
	enum { MANY = 5000 };
	size_t stacks;
	start(true);
	for (uint32_t i = 0; i < MANY; i++)
		take_thread(100 + i, i % 2 ? "odd" : "even");
	collector_finish(collector);
	uint64_t odd = value_of(0, "odd", &stacks), even = value_of(0, "even", &stacks);
	ck_assert_uint_eq(stacks, THREAD_TABLE_THREADS_MAX + 2);
	ck_assert_uint_eq(odd, (MANY - THREAD_TABLE_THREADS_MAX) / 2);
	ck_assert_uint_eq(even, odd);
	ck_assert_uint_eq(collector_statistics(collector).threads_merged, MANY - THREAD_TABLE_THREADS_MAX);
}

/* A hostile thread may change its name with each sample. */
TEST(names_beyond_the_limit_are_dropped)
{
	enum { MANY = 2000, KEPT = THREAD_TABLE_THREADS_MAX + THREAD_TABLE_NAMES_MAX };
	char name[16];
	size_t stacks;
	start(true);
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "name %u", i);
		take_thread(11, name);
	}
	collector_finish(collector);
	ck_assert_uint_eq(value_of(0, NULL, &stacks), MANY - KEPT);
	ck_assert_uint_eq(stacks, KEPT + 1);
	ck_assert_uint_eq(collector_statistics(collector).threads_merged, MANY - THREAD_TABLE_THREADS_MAX);
}

int main(void)
{
	return run_all_tests(0, set_up, end_collector);
}
