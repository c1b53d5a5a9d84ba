/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of samples in the profile: stacks that a sink wants separate or merged, and the limit on their number. */
#include <check.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/frame_table.h"
#include "collector_records.h"
#include "../run_suite.h"

#define PID 10

static struct iaprof_span span_of(uint8_t trace, uint32_t id)
{
	struct iaprof_span span = { .trace_id = { [15] = trace } };
	memcpy(span.span_id, &id, sizeof id);
	return span;
}

static void take_span_of_size(uint8_t trace, uint32_t id, size_t size)
{
	uint64_t address = 0x1000;
	struct iaprof_record_sample record = { .pid = PID,
					       .user_stack = intern_stack(intern, PID, &address, 1),
					       .value_type = 42,
					       .count = 1,
					       .value = 1,
					       .first_time = SECOND,
					       .span = span_of(trace, id) };
	take(&record, IAPROF_RECORD_SAMPLE, size, SECOND);
}

static void take_span(uint8_t trace, uint32_t id)
{
	take_span_of_size(trace, id, sizeof(struct iaprof_record_sample));
}

static void start(bool spans)
{
	collector = collector_new(&(struct collector_options){ .intern = intern, .spans = spans });
	ck_assert_ptr_nonnull(collector);
	take_cpu_type(0);
	take_process(PID, IAPROF_PROCESS_EXISTING, "program", SECOND);
}

static void set_up(void)
{
	intern = intern_new(NULL);
	ck_assert_ptr_nonnull(intern);
}

/* Returns the value of a span, and sets *stacks to the number of all stacks with values. Trace 0: without a span. */
static uint64_t value_of(uint8_t trace, uint32_t id, size_t *stacks)
{
	struct snapshot *snapshot = collector_snapshot(collector, true);
	const struct iaprof_profile *profile = &snapshot->profile;
	const struct iaprof_span wanted = span_of(trace, id);
	uint64_t sum = 0;
	*stacks = profile->value_count;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		const struct iaprof_span *span = iaprof_profile_stack_span(profile, value->stack);
		if (trace ? span && !memcmp(span, &wanted, sizeof wanted) : !span)
			sum += value->value;
	}
	snapshot_release(snapshot);
	return sum;
}

START_TEST(spans_are_separate_on_request)
{
	size_t stacks;
	start(_i);
	take_span(1, 7);
	take_span(1, 7);
	take_span(1, 8);
	take_span(2, 7);
	take_span(0, 0);
	collector_finish(collector);
	ck_assert_uint_eq(value_of(1, 7, &stacks), _i ? 2 : 0);
	ck_assert_uint_eq(value_of(1, 8, &stacks), _i ? 1 : 0);
	ck_assert_uint_eq(value_of(2, 7, &stacks), _i ? 1 : 0);
	ck_assert_uint_eq(value_of(0, 0, &stacks), _i ? 1 : 5);
	ck_assert_uint_eq(stacks, _i ? 4 : 1);
}
END_TEST

/* A process that ends has its stacks resolved early: they keep their span. */
START_TEST(spans_outlive_their_process)
{
	size_t stacks;
	start(true);
	take_span(1, 7);
	take_span(2, 7);
	take_process(PID, IAPROF_PROCESS_EXIT, "program", 2 * SECOND);
	take_sync(100 * SECOND);
	collector_finish(collector);
	ck_assert_uint_eq(value_of(1, 7, &stacks), 1);
	ck_assert_uint_eq(value_of(2, 7, &stacks), 1);
	ck_assert_uint_eq(stacks, 2);
}
END_TEST

/* One of the two ids is no span, and what follows a shorter record is not part of it. */
START_TEST(half_a_span_is_none)
{
	size_t stacks;
	start(true);
	take_span(1, 0);
	take_span(0, 7);
	take_span_of_size(1, 7, offsetof(struct iaprof_record_sample, span));
	collector_finish(collector);
	ck_assert_uint_eq(value_of(0, 0, &stacks), 3);
	ck_assert_uint_eq(stacks, 1);
}
END_TEST

START_TEST(spans_beyond_the_limit_are_dropped)
{
	enum { MORE = 100 };
	size_t stacks;
	start(true);
	for (uint32_t i = 0; i < FRAME_TABLE_SPANS_MAX + MORE; i++)
		take_span(1, i + 1);
	take_span(1, 1);
	collector_finish(collector);
	ck_assert_uint_eq(value_of(1, 1, &stacks), 2);
	ck_assert_uint_eq(value_of(0, 0, &stacks), MORE);
	ck_assert_uint_eq(stacks, FRAME_TABLE_SPANS_MAX + 1);
	ck_assert_uint_eq(collector_statistics(collector).spans_dropped, MORE);
}
END_TEST

START_TEST(every_sample_without_its_span_is_counted)
{
	size_t stacks;
	start(true);
	for (uint32_t i = 0; i < FRAME_TABLE_SPANS_MAX; i++)
		take_span(1, i + 1);
	for (int i = 0; i < 3; i++)
		take_span(2, 1);
	collector_finish(collector);
	ck_assert_uint_eq(value_of(0, 0, &stacks), 3);
	ck_assert_uint_eq(collector_statistics(collector).spans_dropped, 3);
}
END_TEST

/* A stack of a replay, which has the span and the value that follow it in a ring's segment. */
static void take_replayed(uint32_t id, uint8_t trace, uint32_t span, size_t missing)
{
	struct {
		struct iaprof_record_profile_stack head;
		struct iaprof_record_frame frame;
		struct iaprof_record_stack_origin origin;
		struct iaprof_span span;
	} stack = { .head = { .id = id, .frame_count = 1 },
		    .frame = { .name = text("program"), .kind = IAPROF_FRAME_PROCESS, .address = PID },
		    .span = span_of(trace, span) };
	struct iaprof_record_profile_value value = { .stack = id, .value_type = 42, .value = 1, .count = 1 };
	take(&stack, IAPROF_RECORD_PROFILE_STACK, sizeof stack - missing, SECOND);
	take(&value, IAPROF_RECORD_PROFILE_VALUE, sizeof value, SECOND);
}

START_TEST(replayed_stacks_have_their_span)
{
	size_t stacks;
	start(_i);
	take_replayed(1, 1, 7, 0);
	take_replayed(2, 1, 8, 0);
	take_replayed(3, 0, 8, 0);
	take_replayed(4, 1, 7, sizeof(struct iaprof_span));
	take_replayed(5, 1, 7, sizeof(struct iaprof_span) + sizeof(struct iaprof_record_stack_origin));
	collector_finish(collector);
	ck_assert_uint_eq(value_of(1, 7, &stacks), _i ? 1 : 0);
	ck_assert_uint_eq(value_of(1, 8, &stacks), _i ? 1 : 0);
	ck_assert_uint_eq(value_of(0, 0, &stacks), _i ? 3 : 5);
	ck_assert_uint_eq(stacks, _i ? 3 : 1);
}
END_TEST

START_TEST(replayed_spans_beyond_the_limit_are_dropped)
{
	size_t stacks;
	start(true);
	for (uint32_t i = 0; i < FRAME_TABLE_SPANS_MAX + 2; i++)
		take_replayed(i + 1, 1, i + 1, 0);
	collector_finish(collector);
	ck_assert_uint_eq(value_of(0, 0, &stacks), 2);
	ck_assert_uint_eq(stacks, FRAME_TABLE_SPANS_MAX + 1);
	ck_assert_uint_eq(collector_statistics(collector).spans_dropped, 2);
}
END_TEST

/* A table that is rebuilt has the stacks that are kept, and only their spans. */
START_TEST(stacks_move_with_their_span)
{
	struct frame_table from = { 0 }, to = { 0 };
	const struct iaprof_span first = span_of(1, 7), second = span_of(1, 8);
	uint32_t frame = frame_table_add(&from, &(struct iaprof_frame){ .name = "function" });
	struct stack_origin origin = { .span = frame_table_add_span(&from, &first) };
	frame_table_add_stack(&from, &frame, 1, &origin);
	origin.span = frame_table_add_span(&from, &second);
	uint32_t stack = frame_table_add_stack(&from, &frame, 1, &origin);
	ck_assert_uint_eq(stack, 1);
	uint32_t moved = frame_table_add_from(&to, &from, stack);
	ck_assert_uint_eq(moved, 0);
	ck_assert_uint_eq(to.stacks.items[moved].origin.span, 1);
	ck_assert_uint_eq(to.spans.count, 1);
	ck_assert_mem_eq(&to.spans.items[0].key, &second, sizeof second);
	frame_table_free(&from);
	frame_table_free(&to);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("spans");
	TCase *test_case = tcase_create("spans");
	tcase_add_checked_fixture(test_case, set_up, end_collector);
	tcase_add_loop_test(test_case, spans_are_separate_on_request, 0, 2);
	tcase_add_test(test_case, spans_outlive_their_process);
	tcase_add_test(test_case, half_a_span_is_none);
	tcase_add_test(test_case, spans_beyond_the_limit_are_dropped);
	tcase_add_test(test_case, every_sample_without_its_span_is_counted);
	tcase_add_loop_test(test_case, replayed_stacks_have_their_span, 0, 2);
	tcase_add_test(test_case, replayed_spans_beyond_the_limit_are_dropped);
	tcase_set_timeout(test_case, 60); /* the limit is large */
	TCase *tables = tcase_create("tables");
	tcase_add_test(tables, stacks_move_with_their_span);
	suite_add_tcase(suite, test_case);
	suite_add_tcase(suite, tables);
	return run_suite(suite);
}
