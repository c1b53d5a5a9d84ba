/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of waits in the profile: the reason is the innermost frame, followed by the stack that ended the wait. */
#include <check.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector_records.h"
#include "text/text.h"
#include "../run_suite.h"

#define PID 10
#define WAKER 11

static void set_up(void)
{
	intern = intern_new(NULL);
	collector = collector_new(&(struct collector_options){ .intern = intern });
	ck_assert_ptr_nonnull(collector);
	take_cpu_type(0);
	take_process(PID, IAPROF_PROCESS_EXISTING, "sleeper", SECOND);
	take_process(WAKER, IAPROF_PROCESS_EXISTING, "waker", SECOND);
}

static void take_wait_at(const char *reason, const char *waker, size_t size, uint64_t time)
{
	uint64_t addresses[] = { 0x1000, 0x2000 };
	struct iaprof_record_sample record = {
		.pid = PID, .value_type = CPU_TYPE, .count = 1, .value = 5, .first_time = SECOND, .reason = text(reason)
	};
	if (waker) {
		record.waker = WAKER;
		record.waker_name = text(waker);
		record.waker_user_stack = intern_stack(intern, WAKER, addresses, 2);
		record.waker_kernel_stack = intern_stack(intern, 0, addresses, 1);
	}
	take(&record, IAPROF_RECORD_SAMPLE, size, time);
}

static void take_wait(const char *reason, const char *waker, size_t size)
{
	take_wait_at(reason, waker, size, 2 * SECOND);
}

static void take_mapping(const char *path, uint64_t time)
{
	struct iaprof_record_mapping record = { .pid = WAKER, .start = 0x1000, .size = 0x10000, .path = text(path) };
	take(&record, IAPROF_RECORD_MAPPING, sizeof record, time);
}

/* Returns the value of the stacks with a frame in a file. */
static uint64_t value_in(const char *path)
{
	uint64_t sum = 0;
	struct snapshot *snapshot = collector_snapshot(collector, true);
	const struct iaprof_profile *profile = &snapshot->profile;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
		bool found = false;
		for (uint32_t frame = 0; frame < stack->frame_count; frame++) {
			const char *module = iaprof_profile_frame(profile, stack->frames[frame])->module;
			found |= module && !strcmp(module, path);
		}
		sum += found ? value->value : 0;
	}
	snapshot_release(snapshot);
	return sum;
}

/* Returns the stacks, as "frame;frame value" lines; the caller frees it. */
static struct text stacks(void)
{
	struct text lines = { 0 };
	struct snapshot *snapshot = collector_snapshot(collector, true);
	const struct iaprof_profile *profile = &snapshot->profile;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
		for (uint32_t frame = 0; frame < stack->frame_count; frame++)
			text_append_format(&lines, "%s%s", frame ? ";" : "",
					   iaprof_profile_frame(profile, stack->frames[frame])->name);
		text_append_format(&lines, " %d\n", (int)value->value);
	}
	snapshot_release(snapshot);
	return lines;
}

static void expect(const char *wanted)
{
	struct text found = stacks();
	ck_assert_str_eq(text_string(&found), wanted);
	text_free(&found);
}

TEST(reasons_are_innermost_and_apart)
{
	take_wait("[disk]", NULL, sizeof(struct iaprof_record_sample));
	take_wait("[disk]", NULL, sizeof(struct iaprof_record_sample));
	take_wait("[lock]", NULL, sizeof(struct iaprof_record_sample));
	collector_finish(collector);
	expect("sleeper;[disk] 10\nsleeper;[lock] 5\n");
}

/* Leaf first: the Linux kernel, the waker's functions, and its name. */
TEST(wakers_follow_the_reason)
{
	take_wait("[pipe]", "waker", sizeof(struct iaprof_record_sample));
	collector_finish(collector);
	expect("sleeper;[pipe];[woken by];[unknown];[unknown];[unknown];waker 5\n");
}

/* The name is the thread's, and is known when its process has ended. */
TEST(wakers_may_have_ended)
{
	take_wait("[pipe]", "worker", sizeof(struct iaprof_record_sample));
	take_process(WAKER, IAPROF_PROCESS_EXIT, "", 3 * SECOND);
	for (uint64_t time = 4; time < 30; time++)
		take_sync(time * SECOND);
	collector_finish(collector);
	expect("sleeper;[pipe];[woken by];[unknown];[unknown];[unknown];worker 5\n");
}

/* Waits that are alike, before and after an exec of the waker. */
TEST(wakers_are_the_programs_of_their_time)
{
	static const uint64_t seconds[] = { 2, 4, 2, 5, 4 };
	take_mapping("/bin/first", SECOND);
	for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
		take_wait_at("[pipe]", "waker", sizeof(struct iaprof_record_sample), seconds[i] * SECOND);
	take_process(WAKER, IAPROF_PROCESS_EXEC, "waker", 3 * SECOND);
	take_mapping("/bin/second", 3 * SECOND);
	collector_finish(collector);
	ck_assert_uint_eq(value_in("/bin/first"), 10);
	ck_assert_uint_eq(value_in("/bin/second"), 15);
}

/* Sources that were built with an earlier version send shorter records: what follows them is not a reason. */
TEST(a_shorter_record_is_no_wait)
{
	take_wait("not part of it", NULL, offsetof(struct iaprof_record_sample, reason));
	collector_finish(collector);
	expect("sleeper 5\n");
}

int main(void)
{
	return run_all_tests(0, set_up, end_collector);
}
