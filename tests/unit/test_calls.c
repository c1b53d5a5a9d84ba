/* SPDX-License-Identifier: Apache-2.0 */
/* Calls in the profile: program, user frames and the calls by their nesting; nothing counted twice or left out. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector_records.h"
#include "../run_suite.h"

enum { TIME_TYPE = 1, CALLS_TYPE = 2 };

static void define_function(uint32_t id, const char *name)
{
	struct iaprof_record_call_function record = { .id = id, .name = text(name), .kind = IAPROF_CALL_FUNCTION };
	take(&record, IAPROF_RECORD_CALL_FUNCTION, sizeof record, 0);
}

static void define_node(uint32_t id, uint32_t parent, uint32_t function)
{
	struct iaprof_record_call_node record = { .id = id, .parent = parent, .function = function };
	take(&record, IAPROF_RECORD_CALL_NODE, sizeof record, 0);
}

static void take_call(uint32_t pid, uint32_t node, uint64_t count, uint64_t self_duration, uint64_t time)
{
	struct iaprof_record_call record = {
		.name = text("call"),
		.pid = pid,
		.count = count,
		.duration = 2 * self_duration,
		.self_duration = self_duration,
		.first_time = time,
		.node = node,
		.time_type = TIME_TYPE,
		.count_type = CALLS_TYPE,
	};
	take(&record, IAPROF_RECORD_CALL, sizeof record, time);
}

static void set_up(void)
{
	intern = intern_new(NULL);
	collector = collector_new(&(struct collector_options){ .intern = intern, .live = true });
	struct iaprof_record_source source = { .number = 1, .name = text("test") };
	take_of(0, &source, IAPROF_RECORD_SOURCE, sizeof source, 0);
	struct iaprof_record_value_type times = { .id = TIME_TYPE,
						  .name = text("npu-time"),
						  .unit = text("nanoseconds") };
	take_of(0, &times, IAPROF_RECORD_VALUE_TYPE, sizeof times, 0);
	struct iaprof_record_value_type calls = { .id = CALLS_TYPE, .name = text("npu-calls"), .unit = text("count") };
	take_of(0, &calls, IAPROF_RECORD_VALUE_TYPE, sizeof calls, 0);
	struct iaprof_record_process process = { .pid = 10, .event = IAPROF_PROCESS_EXISTING, .name = text("infer") };
	take_of(0, &process, IAPROF_RECORD_PROCESS, sizeof process, 0);
	define_function(1, "ivpu_submit_ioctl");
	define_function(2, "ivpu_bo_pin");
	define_function(3, "ivpu_ipc_irq_handler");
	define_node(1, 0, 1);
	define_node(2, 1, 2);
	define_node(3, 0, 3);
}

static struct snapshot *finish(void)
{
	struct iaprof_record_sync sync = { 0 };
	take_of(0, &sync, IAPROF_RECORD_SYNC, sizeof sync, 100 * SECOND);
	collector_finish(collector);
	return collector_snapshot(collector, true);
}

/* The value of one type under a stack, written "root;...;leaf"; under all stacks for NULL. */
static uint64_t value_of(const struct snapshot *snapshot, uint32_t value_type, const char *wanted)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < snapshot->profile.value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(&snapshot->profile, i);
		const struct iaprof_stack *stack = iaprof_profile_stack(&snapshot->profile, value->stack);
		char path[256] = "";
		for (uint32_t k = 0; k < stack->frame_count; k++) {
			strcat(path, k ? ";" : "");
			strcat(path, iaprof_profile_frame(&snapshot->profile, stack->frames[k])->name);
		}
		if (value->value_type == value_type - 1 && (!wanted || !strcmp(path, wanted)))
			sum += value->value;
	}
	return sum;
}

static uint64_t lost(void)
{
	return collector_lost_count(collector);
}

TEST(calls_stand_in_the_profile_by_their_nesting)
{
	take_call(10, 1, 2, 100, SECOND);
	take_call(10, 2, 7, 40, SECOND);
	take_call(10, 2, 1, 2, 2 * SECOND);
	take_call(0, 3, 5, 9, 2 * SECOND);
	struct snapshot *snapshot = finish();
	ck_assert_uint_eq(value_of(snapshot, TIME_TYPE, "infer;ivpu_submit_ioctl"), 100);
	ck_assert_uint_eq(value_of(snapshot, TIME_TYPE, "infer;ivpu_submit_ioctl;ivpu_bo_pin"), 42);
	ck_assert_uint_eq(value_of(snapshot, CALLS_TYPE, "infer;ivpu_submit_ioctl;ivpu_bo_pin"), 8);
	ck_assert_uint_eq(value_of(snapshot, CALLS_TYPE, "[no program];ivpu_ipc_irq_handler"), 5);
	ck_assert_uint_eq(value_of(snapshot, TIME_TYPE, NULL), 100 + 42 + 9);
	ck_assert_uint_eq(value_of(snapshot, CALLS_TYPE, NULL), 2 + 8 + 5);
	ck_assert_uint_eq(lost(), 0);
	ck_assert_uint_eq(collector_statistics(collector).samples, 0);
	snapshot_release(snapshot);
}

TEST(calls_without_time_count_all_the_same)
{
	take_call(10, 2, 3, 0, SECOND);
	struct snapshot *snapshot = finish();
	ck_assert_uint_eq(value_of(snapshot, TIME_TYPE, NULL), 0);
	ck_assert_uint_eq(value_of(snapshot, CALLS_TYPE, "infer;ivpu_submit_ioctl;ivpu_bo_pin"), 3);
	snapshot_release(snapshot);
}

TEST(calls_of_a_short_process_keep_its_name)
{
	take_call(10, 2, 3, 30, SECOND);
	struct iaprof_record_process end = { .pid = 10, .event = IAPROF_PROCESS_EXIT };
	take_of(0, &end, IAPROF_RECORD_PROCESS, sizeof end, 2 * SECOND);
	struct iaprof_record_sync sync = { 0 };
	for (uint64_t i = 3; i < 60; i += 10) {
		take_of(0, &sync, IAPROF_RECORD_SYNC, sizeof sync, i * SECOND);
		sync = (struct iaprof_record_sync){ 0 };
	}
	struct snapshot *snapshot = finish();
	ck_assert_uint_eq(value_of(snapshot, TIME_TYPE, "infer;ivpu_submit_ioctl;ivpu_bo_pin"), 30);
	snapshot_release(snapshot);
}

TEST(calls_of_a_node_that_nobody_defined_are_lost)
{
	take_call(10, 99, 3, 30, SECOND);
	struct snapshot *snapshot = finish();
	ck_assert_uint_eq(lost(), 3);
	ck_assert_uint_eq(value_of(snapshot, TIME_TYPE, NULL), 0);
	snapshot_release(snapshot);
}

TEST(definitions_that_contradict_are_refused)
{
	define_function(1, "ivpu_submit_ioctl");
	define_node(2, 1, 2);
	ck_assert_uint_eq(collector_statistics(collector).definitions_refused, 0);
	define_function(1, "something else");
	define_node(2, 0, 2);  /* another parent */
	define_node(8, 77, 2); /* a parent that is not there */
	define_node(9, 0, 77); /* a function that is not there */
	ck_assert_uint_eq(collector_statistics(collector).definitions_refused, 4);
	uint32_t deepest = 3;
	for (uint32_t i = 0; i < 2 * IAPROF_CALL_DEPTH_MAX; i++, deepest++)
		define_node(deepest + 97, i ? deepest + 96 : 3, 3);
	/* Node 3 has depth 0: one less than the greatest depth fit below it. */
	ck_assert_uint_eq(collector_statistics(collector).definitions_refused, 4 + IAPROF_CALL_DEPTH_MAX + 1);
	take_call(10, 2, 1, 5, SECOND);
	struct snapshot *snapshot = finish();
	ck_assert_uint_eq(value_of(snapshot, TIME_TYPE, "infer;ivpu_submit_ioctl;ivpu_bo_pin"), 5);
	snapshot_release(snapshot);
}

TEST(a_call_of_an_earlier_release_is_no_part_of_the_profile)
{
	struct iaprof_record_call record = { .name = text("call"), .pid = 10, .count = 1, .first_time = SECOND };
	take(&record, IAPROF_RECORD_CALL, offsetof(struct iaprof_record_call, node), SECOND);
	struct snapshot *snapshot = finish();
	ck_assert_uint_eq(snapshot->profile.value_count, 0);
	ck_assert_uint_eq(lost(), 0);
	snapshot_release(snapshot);
}

int main(void)
{
	return run_all_tests(0, set_up, end_collector);
}
