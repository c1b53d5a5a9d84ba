/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of launches in the stacks of device samples, which have one only if no other one is possible, and their replay.
 */
#include <check.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "correlator_history.h"
#include "../run_suite.h"

static struct iaprof_span span_of(uint8_t id)
{
	return (struct iaprof_span){ .trace_id = { [15] = 1 }, .span_id = { [7] = id } };
}

/* id: of the span, 0: none */
static struct iaprof_record_launch launch_of(uint32_t pid, uint32_t kernel, uint8_t id, uint64_t time)
{
	uint64_t address = UINT64_C(0xffffffff81000004);
	struct iaprof_record_launch record = { .kernel = kernel,
					       .pid = pid,
					       .kernel_stack = intern_stack(intern, 0, &address, 1),
					       .count = 1,
					       .first_time = start + time };
	if (id)
		record.span = span_of(id);
	return record;
}

static void take_launch(uint32_t pid, uint32_t kernel, uint8_t id, uint64_t time)
{
	struct iaprof_record_launch record = launch_of(pid, kernel, id, time);
	take(LAUNCHES, &record, IAPROF_RECORD_LAUNCH, sizeof record, time);
}

/* As a source that does not know of spans sends it. */
static void take_short_launch(uint32_t pid, uint32_t kernel, uint8_t id, uint64_t time)
{
	struct iaprof_record_launch record = launch_of(pid, kernel, id, time);
	take(LAUNCHES, &record, IAPROF_RECORD_LAUNCH, offsetof(struct iaprof_record_launch, span), time);
}

/* id 0: samples without a span */
static uint64_t value_of(struct collector *of, uint8_t id)
{
	struct snapshot *snapshot = collector_snapshot(of, true);
	const struct iaprof_profile *profile = &snapshot->profile;
	const struct iaprof_span wanted = span_of(id);
	uint64_t sum = 0;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		const struct iaprof_span *span = iaprof_profile_stack_span(profile, value->stack);
		if (id ? span && !memcmp(span, &wanted, sizeof wanted) : !span)
			sum += value->value;
	}
	snapshot_release(snapshot);
	return sum;
}

/* Takes 2 * count samples of BASE + 0x1000 in the second before a time. */
static void take_second(uint64_t count, uint64_t to)
{
	take_stalls(BASE + 0x1000, IAPROF_ADDRESS_ABSOLUTE, count, to - SECOND, to);
}

static void end(uint64_t time)
{
	tell(time);
	synchronize(time);
	collector_finish(collector);
	ck_assert_uint_eq(sum("-"), samples_in);
}

static void set_up_with_spans(void)
{
	history_spans = true;
	set_up();
}

static void tear_down_with_spans(void)
{
	tear_down();
	history_spans = false;
}

TEST(samples_have_the_only_span)
{
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_launch(10, kernel, 7, 2 * SECOND);
	take_second(5, 2 * SECOND + MILLISECOND);
	take_launch(10, kernel, 7, 3 * SECOND);
	take_second(20, 4 * SECOND);  /* launched in the interval, and before */
	take_second(300, 6 * SECOND); /* not launched since: still running */
	end(20 * SECOND);
	ck_assert_uint_eq(value_of(collector, 7), samples_in);
	ck_assert_uint_eq(value_of(collector, 0), 0);
	ck_assert_uint_eq(sum("first;site_a;-;add"), samples_in);
}

/* A kernel of an earlier launch may still be running, and samples do not state which one it is. */
TEST(several_spans_leave_it_open)
{
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_launch(10, kernel, 1, 2 * SECOND);
	take_second(1, 2 * SECOND + MILLISECOND);
	take_launch(10, kernel, 2, 5 * SECOND);
	take_second(10, 5 * SECOND + MILLISECOND);   /* of 1 or 2 */
	take_second(100, 12 * SECOND - MILLISECOND); /* of 1 or 2: 2 + 10 > 12 - 1 */
	take_launch(10, kernel, 2, 14 * SECOND);
	take_second(1000, 14 * SECOND + MILLISECOND); /* 1 has ended */
	take_launch(10, kernel, 0, 30 * SECOND);      /* no span is one that it may be, too */
	take_launch(10, kernel, 3, 31 * SECOND);
	take_second(10000, 31 * SECOND + MILLISECOND);
	end(50 * SECOND);
	ck_assert_uint_eq(value_of(collector, 1), 2);
	ck_assert_uint_eq(value_of(collector, 2), 2000);
	ck_assert_uint_eq(value_of(collector, 3), 0);
	ck_assert_uint_eq(value_of(collector, 0), 20220);
}

TEST(a_launch_after_the_samples_is_not_theirs)
{
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_second(10, 3 * SECOND);
	take_launch(10, kernel, 1, 4 * SECOND);
	end(20 * SECOND);
	ck_assert_uint_eq(sum("first;site_a;-;add"), samples_in);
	ck_assert_uint_eq(value_of(collector, 0), samples_in);
}

/* Kernels at one address of two processes. */
TEST(ambiguous_samples_have_none)
{
	for (uint32_t pid = 10; pid < 12; pid++)
		take_launch(pid, take_kernel(pid, "add", BASE + 0x1000, SECOND), 1, 2 * SECOND);
	take_second(10, 2 * SECOND + MILLISECOND);
	end(20 * SECOND);
	ck_assert_uint_eq(sum("-;[ambiguous]"), samples_in);
	ck_assert_uint_eq(value_of(collector, 0), samples_in);
}

TEST(short_records_have_none)
{
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_short_launch(10, kernel, 1, 2 * SECOND);
	take_second(10, 2 * SECOND + MILLISECOND);
	end(20 * SECOND);
	ck_assert_uint_eq(value_of(collector, 0), samples_in);
}

/* More launches than are remembered: the oldest may be of any span. */
TEST_LOOP(forgotten_launches_leave_it_open, 0, 2)
{
	const uint64_t step = MILLISECOND / 2;
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	for (uint64_t i = 0; i < 5000; i++) {
		struct iaprof_record_launch record = launch_of(10, kernel, 1, 2 * SECOND + i * step);
		uint64_t sites[3];
		for (uint64_t k = 0, rest = i; k < 3; k++, rest /= 26)
			sites[k] = UINT64_C(0xffffffff81000004) + rest % 26 * 0x100;
		if (_i)
			record.kernel_stack = intern_stack(intern, 0, sites, 3);
		take(LAUNCHES, &record, IAPROF_RECORD_LAUNCH, sizeof record, 2 * SECOND + i * step);
	}
	take_second(10, 5 * SECOND);
	end(20 * SECOND);
	/* Those of one stack are merged, which forgets nothing. */
	ck_assert_uint_eq(value_of(collector, _i ? 0 : 1), samples_in);
}

/* One launch of another span among those that are merged. */
TEST_LOOP(merged_launches_leave_it_open, 0, 2)
{
	const uint64_t step = MILLISECOND / 2;
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	for (uint64_t i = 0; i < 5000; i++)
		take_launch(10, kernel, i == 100 && _i ? 2 : 1, 2 * SECOND + i * step);
	take_second(10, 5 * SECOND);
	end(20 * SECOND);
	ck_assert_uint_eq(value_of(collector, _i ? 0 : 1), samples_in);
}

/* A sample that names its launch has its span, whatever else runs. */
TEST(named_launches_are_certain)
{
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	for (uint8_t id = 0; id < 3; id++) {
		struct iaprof_record_launch record = launch_of(10, kernel, id, 2 * SECOND);
		record.correlation = id + 1;
		take(LAUNCHES, &record, IAPROF_RECORD_LAUNCH, sizeof record, 2 * SECOND);
	}
	const uint64_t counts[] = { 5, 60, 700 };
	for (uint32_t i = 0; i < 3; i++) {
		struct {
			struct iaprof_record_stall_sample head;
			uint64_t count;
			struct iaprof_record_stall_details details;
		} record = { .head = { .begin = start + 2 * SECOND,
				       .address_space = IAPROF_ADDRESS_KERNEL,
				       .device = 1,
				       .reason_count = 1,
				       .pid = 10 },
			     .count = counts[i],
			     .details = { .size = sizeof record.details, .kernel = kernel, .correlation = i + 1 } };
		take(LAUNCHES, &record, IAPROF_RECORD_STALL_SAMPLE, sizeof record, 3 * SECOND);
		samples_in += counts[i];
	}
	end(20 * SECOND);
	for (uint8_t id = 0; id < 3; id++)
		ck_assert_uint_eq(value_of(collector, id), counts[id]);
}

/* _i: whether a sink of the replay requests spans; a sink of the run that reads records has them anyway. */
TEST_LOOP(a_replay_has_the_same_spans, 0, 2)
{
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_launch(10, kernel, 7, 2 * SECOND);
	take_second(5, 2 * SECOND + MILLISECOND);
	end(20 * SECOND);
	history_spans = _i;
	struct collector *replay = make_collector(false, NULL);
	replay_results(collector, replay);
	ck_assert_uint_eq(sum_of(replay, "first;site_a;-;add"), samples_in);
	ck_assert_uint_eq(value_of(replay, 7), _i ? samples_in : 0);
	ck_assert_uint_eq(value_of(replay, 0), _i ? 0 : samples_in);
	collector_free(replay);
}

int main(void)
{
	return run_all_tests(0, set_up_with_spans, tear_down_with_spans);
}
