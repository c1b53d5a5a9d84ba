/* SPDX-License-Identifier: Apache-2.0 */
/* Two profiles made by hand become one: what is the same stack, sums, losses, factors. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/test_profile.h"
#include "stacks/difference.h"
#include "../run_suite.h"

static struct test_profile before, after;
static struct difference *difference;

static void setup(void)
{
	before = after = (struct test_profile){ 0 };
	difference = NULL;
}

static void teardown(void)
{
	difference_free(difference);
	test_profile_free(&before);
	test_profile_free(&after);
}

static const struct iaprof_profile *compare(uint32_t normalization, bool lines)
{
	struct error error = { 0 };
	difference = difference_new(&(struct difference_input){ .before = test_profile_get(&before),
								.after = test_profile_get(&after),
								.normalization = normalization,
								.lines = lines },
				    &error);
	ck_assert_msg(difference != NULL, "%s", error.text);
	const struct iaprof_profile *profile = difference_profile(difference);
	ck_assert_uint_eq(profile->flags, IAPROF_PROFILE_FINAL | IAPROF_PROFILE_TOTAL | IAPROF_PROFILE_DIFFERENCE);
	ck_assert_uint_eq(profile->normalization, normalization);
	return profile;
}

/* A stack of a program and these frames, with a value. */
static void add(struct test_profile *profile, uint32_t pid, const struct iaprof_frame *frames, uint32_t count,
		uint64_t value)
{
	uint32_t ids[8] = { test_profile_frame(
		profile, &(struct iaprof_frame){ .name = "program", .kind = IAPROF_FRAME_PROCESS, .pid = pid }) };
	for (uint32_t i = 0; i < count; i++)
		ids[i + 1] = test_profile_frame(profile, &frames[i]);
	test_profile_value(profile, test_profile_stack(profile, ids, count + 1), 0, value);
}

static const struct iaprof_value *only_value(const struct iaprof_profile *profile, uint32_t frame_count)
{
	ck_assert_uint_eq(profile->value_count, 1);
	const struct iaprof_value *value = iaprof_profile_value(profile, 0);
	ck_assert_uint_eq(iaprof_profile_stack(profile, value->stack)->frame_count, frame_count);
	return value;
}

TEST(leaves_out_what_differs_between_runs)
{
	test_profile_value_type(&before, "cpu", "nanoseconds");
	test_profile_value_type(&after, "cpu", "nanoseconds");
	const struct iaprof_frame old[] = { { .name = "f",
					      .module = "/old/lib/libf.so",
					      .file = "/old/src/f.c",
					      .line = 3,
					      .kind = IAPROF_FRAME_USER,
					      .address = 0x1000 },
					    { .name = "0x10", .kind = IAPROF_FRAME_DEVICE_OFFSET, .offset = 0x10 } };
	const struct iaprof_frame new[] = { { .name = "f",
					      .module = "/new/lib/libf.so",
					      .file = "/new/src/f.c",
					      .line = 4,
					      .kind = IAPROF_FRAME_USER,
					      .address = 0x2000 },
					    { .name = "0x20", .kind = IAPROF_FRAME_DEVICE_OFFSET, .offset = 0x20 } };
	add(&before, 1, old, 2, 30);
	add(&before, 2, old, 1, 3);
	add(&after, 3, new, 2, 5);
	const struct iaprof_profile *profile = compare(IAPROF_NORMALIZATION_NONE, false);
	const struct iaprof_value *value = only_value(profile, 2);
	ck_assert_uint_eq(value->before, 33);
	ck_assert_uint_eq(value->before_count, 2);
	ck_assert_uint_eq(value->value, 5);
	ck_assert_uint_eq(value->count, 1);
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
	const struct iaprof_frame *program = iaprof_profile_frame(profile, stack->frames[0]),
				  *function = iaprof_profile_frame(profile, stack->frames[1]);
	ck_assert_uint_eq(program->pid, 0);
	ck_assert_str_eq(function->module, "libf.so");
	ck_assert_str_eq(function->file, "f.c");
	ck_assert_uint_eq(function->line + function->address + function->offset, 0);
}

TEST(keeps_apart_what_a_reader_distinguishes)
{
	static const struct iaprof_frame frames[] = {
		{ .name = "f", .module = "/a/libf.so", .kind = IAPROF_FRAME_USER },
		{ .name = "g", .module = "/a/libf.so", .kind = IAPROF_FRAME_USER },
		{ .name = "f", .module = "/a/libg.so", .kind = IAPROF_FRAME_USER },
		{ .name = "f", .kind = IAPROF_FRAME_USER },
		{ .name = "f", .module = "/a/libf.so", .kind = IAPROF_FRAME_LINUX_KERNEL },
		{ .name = "f", .module = "/a/libf.so", .kind = IAPROF_FRAME_USER, .flags = IAPROF_FRAME_INLINED },
		{ .name = "f", .module = "/a/libf.so", .kind = IAPROF_FRAME_USER, .file = "f.c" },
		{ .name = "f", .module = "/a/libf.so", .kind = IAPROF_FRAME_USER, .file = "f.c", .line = 1 },
		{ .name = "f", .module = "/", .kind = IAPROF_FRAME_USER },
	};
	const uint32_t count = sizeof frames / sizeof *frames;
	test_profile_value_type(&before, "cpu", "nanoseconds");
	test_profile_value_type(&after, "cpu", "nanoseconds");
	for (uint32_t i = 0; i < count; i++) {
		add(&before, 1, &frames[i], 1, i + 1);
		add(&after, 1, &frames[count - 1 - i], 1, 100);
	}
	const struct iaprof_profile *profile = compare(IAPROF_NORMALIZATION_NONE, true);
	ck_assert_uint_eq(profile->value_count, count);
	for (uint32_t i = 0; i < count; i++)
		ck_assert_uint_eq(iaprof_profile_value(profile, i)->before, count - i);
}

/* Both runs can be read with the indexes of the difference. */
TEST(refers_to_both_runs)
{
	static const struct iaprof_frame f = { .name = "f", .kind = IAPROF_FRAME_USER },
					 g = { .name = "g", .kind = IAPROF_FRAME_USER };
	test_profile_value_type(&before, "cpu", "nanoseconds");
	test_profile_value_type(&after, "cpu", "nanoseconds");
	add(&before, 1, &f, 1, 10);
	add(&before, 2, &g, 1, 20);
	add(&before, 3, &f, 1, 30);
	add(&after, 4, &g, 1, 5);
	const struct iaprof_profile *profile = compare(IAPROF_NORMALIZATION_NONE, false);
	ck_assert(profile->before_profile);
	ck_assert(!profile->after_profile->before_profile);
	ck_assert_uint_eq(profile->before_profile->stack_count, 3);
	ck_assert_uint_eq(profile->after_profile->stack_count, 1);
	for (uint32_t i = 0; i < 3; i++) {
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, profile->before_stacks[i]);
		ck_assert_str_eq(iaprof_profile_frame(profile, stack->frames[1])->name, i == 1 ? "g" : "f");
	}
	ck_assert_uint_eq(profile->before_stacks[0], profile->before_stacks[2]);
	ck_assert_uint_eq(profile->after_stacks[0], profile->before_stacks[1]);
}

/* Lines of device instructions can be asked for alone. */
TEST(device_instructions_have_lines)
{
	static const struct iaprof_frame frames[] = {
		{ .name = "f", .kind = IAPROF_FRAME_USER, .file = "f.c", .line = 3 },
		{ .name = "add", .kind = IAPROF_FRAME_DEVICE_INSTRUCTION, .file = "k.cl", .line = 7 }
	};
	test_profile_value_type(&before, "cpu", "nanoseconds");
	test_profile_value_type(&after, "cpu", "nanoseconds");
	add(&after, 1, frames, 2, 5);
	for (int is_asked = 0; is_asked < 2; is_asked++) {
		struct error error = { 0 };
		difference_free(difference);
		difference = difference_new(&(struct difference_input){ .before = test_profile_get(&before),
									.after = test_profile_get(&after),
									.device_lines = is_asked },
					    &error);
		ck_assert_msg(difference != NULL, "%s", error.text);
		const struct iaprof_profile *profile = difference_profile(difference);
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, only_value(profile, 3)->stack);
		ck_assert_uint_eq(iaprof_profile_frame(profile, stack->frames[1])->line, 0);
		ck_assert_uint_eq(iaprof_profile_frame(profile, stack->frames[2])->line, is_asked ? 7 : 0);
	}
}

/* What a damaged capture may have: a stack of nothing but an offset; sums that are too large. */
TEST(takes_what_is_odd)
{
	test_profile_value_type(&before, "cpu", "nanoseconds");
	uint32_t offset = test_profile_frame(
		&before, &(struct iaprof_frame){ .name = "0x10", .kind = IAPROF_FRAME_DEVICE_OFFSET, .offset = 16 });
	for (int i = 0; i < 2; i++)
		test_profile_value(&before, test_profile_stack(&before, &offset, 1), 0, UINT64_MAX - 1);
	const struct iaprof_profile *profile = compare(IAPROF_NORMALIZATION_NONE, false);
	const struct iaprof_value *value = only_value(profile, 1);
	ck_assert_uint_eq(value->before, UINT64_MAX);
	ck_assert_uint_eq(value->value, 0);
	ck_assert_uint_eq(difference_totals(profile, 0).before, UINT64_MAX);
}

TEST(joins_losses)
{
	test_profile_value_type(&before, "a", "count");
	test_profile_value_type(&before, "b", "count");
	test_profile_value_type(&after, "b", "count");
	struct iaprof_lost both = {
		.source = "s", .reason = "r", .count = 3, .value = 30, .value_type = 1, .unknown = 2
	};
	struct iaprof_lost other = { .source = "s", .reason = "r", .count = 4, .value_type = UINT32_MAX };
	test_profile_lost(&before, &both);
	test_profile_lost(&before, &other);
	both.value_type = 0; /* the same type's number in the later run */
	both.count = 5;
	both.value = 50;
	both.unknown = UINT32_MAX;
	test_profile_lost(&after, &both);
	test_profile_lost(&after, &both);
	const struct iaprof_profile *profile = compare(IAPROF_NORMALIZATION_NONE, false);
	ck_assert_uint_eq(profile->lost_count, 2);
	const struct iaprof_lost *lost = iaprof_profile_lost(profile, 0);
	ck_assert_str_eq(iaprof_profile_value_type(profile, lost->value_type)->name, "b");
	ck_assert_uint_eq(lost->before_count, 3);
	ck_assert_uint_eq(lost->before_value, 30);
	ck_assert_uint_eq(lost->before_unknown, 2);
	ck_assert_uint_eq(lost->count, 10);
	ck_assert_uint_eq(lost->value, 100);
	ck_assert_uint_eq(lost->unknown, UINT32_MAX);
	lost = iaprof_profile_lost(profile, 1);
	ck_assert_uint_eq(lost->value_type, UINT32_MAX);
	ck_assert_uint_eq(lost->before_count, 4);
	ck_assert_uint_eq(lost->count, 0);
}

/* A loss is the same one when source, reason and value type are; its times are those of the later run. */
TEST(keeps_losses_apart)
{
	static const struct {
		const char *source, *reason;
		uint32_t value_type;
	} losses[] = { { "s", "r", 0 }, { "s", "r", 1 }, { "s", "r", UINT32_MAX }, { "t", "r", 0 }, { "s", "q", 0 } };
	enum { COUNT = sizeof losses / sizeof *losses };
	for (int i = 0; i < 2; i++) {
		test_profile_value_type(i ? &after : &before, "a", "count");
		test_profile_value_type(i ? &after : &before, "a", "ns");
	}
	for (uint64_t i = 0; i < COUNT; i++) {
		struct iaprof_lost lost = { .source = losses[i].source,
					    .reason = losses[i].reason,
					    .value_type = losses[i].value_type,
					    .count = 10 + i,
					    .value = 20 + i,
					    .unknown = 5,
					    .begin = 100 + i,
					    .end = 200 + i };
		test_profile_lost(&after, &lost);
		lost.unknown = i ? 4 : UINT32_MAX - 5;
		test_profile_lost(&after, &lost);
		lost.begin = lost.end = 1;
		test_profile_lost(&before, &lost);
		lost.unknown = i ? 3 : 6;
		test_profile_lost(&before, &lost);
	}
	const struct iaprof_profile *profile = compare(IAPROF_NORMALIZATION_NONE, false);
	ck_assert_uint_eq(profile->lost_count, COUNT);
	for (uint64_t i = 0; i < COUNT; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(profile, i);
		ck_assert_str_eq(lost->source, losses[i].source);
		ck_assert_str_eq(lost->reason, losses[i].reason);
		ck_assert_uint_eq(lost->value_type, losses[i].value_type);
		ck_assert_uint_eq(lost->count, 2 * (10 + i));
		ck_assert_uint_eq(lost->value, 2 * (20 + i));
		ck_assert_uint_eq(lost->before_count, 2 * (10 + i));
		ck_assert_uint_eq(lost->before_value, 2 * (20 + i));
		ck_assert_uint_eq(lost->unknown, i ? 9 : UINT32_MAX);
		ck_assert_uint_eq(lost->before_unknown, i ? 7 : UINT32_MAX);
		ck_assert_uint_eq(lost->begin, 100 + i);
		ck_assert_uint_eq(lost->end, 200 + i);
	}
}

/* Runs of different lengths: what took twice as long has twice the values. */
TEST(scales_by_duration)
{
	test_profile_value_type(&before, "a", "count");
	test_profile_value_type(&after, "a", "count");
	test_profile_value_type(&after, "a", "ns");
	test_profile_add(&before, "p;f", 0, 30);
	test_profile_add(&after, "p;f", 0, 1);
	test_profile_add(&after, "p;f", 1, 50);
	before.end = TEST_PROFILE_BEGIN + 1000;
	after.end = TEST_PROFILE_BEGIN + 4000;
	const struct iaprof_profile *profile = compare(IAPROF_NORMALIZATION_DURATION, false);
	ck_assert_uint_eq(profile->value_type_count, 2);
	for (uint32_t i = 0; i < 2; i++)
		ck_assert_double_eq(iaprof_profile_value_type(profile, i)->before_factor, 4);
	ck_assert_uint_eq(profile->begin, TEST_PROFILE_BEGIN);
	ck_assert_uint_eq(profile->end, TEST_PROFILE_BEGIN + 4000);
	ck_assert_uint_eq(profile->before_begin, TEST_PROFILE_BEGIN);
	ck_assert_uint_eq(profile->before_end, TEST_PROFILE_BEGIN + 1000);
	ck_assert_uint_eq(profile->begin_realtime, after.profile.begin_realtime);
	ck_assert_uint_eq(profile->before_begin_realtime, before.profile.begin_realtime);
	ck_assert_ptr_eq(profile->metadata, after.profile.metadata);
	ck_assert_ptr_eq(profile->before_metadata, before.profile.metadata);
	struct difference_totals totals = difference_totals(profile, 0);
	ck_assert_uint_eq(totals.before, 30);
	ck_assert_uint_eq(totals.after, 1);
	totals = difference_totals(profile, 1);
	ck_assert_uint_eq(totals.before, 0);
	ck_assert_uint_eq(totals.after, 50);
}

/* Nothing is scaled where one of the runs has none of a value type, or nobody wants it. */
TEST_LOOP(scales_nothing_without_both, 0, 2)
{
	test_profile_value_type(&before, "a", "count");
	test_profile_value_type(&before, "b", "count");
	test_profile_value_type(&after, "b", "count");
	test_profile_add(&before, "p;f", 0, 30);
	test_profile_add(&before, "p;f", 1, 20);
	test_profile_add(&after, "p;f", 0, 10);
	const struct iaprof_profile *profile =
		compare(_i ? IAPROF_NORMALIZATION_TOTAL : IAPROF_NORMALIZATION_NONE, false);
	ck_assert_double_eq(iaprof_profile_value_type(profile, 0)->before_factor, _i ? 0.5 : 1);
	ck_assert_double_eq(iaprof_profile_value_type(profile, 1)->before_factor, 1);
}

TEST(has_factors)
{
	test_profile_value_type(&before, "a", "count");
	test_profile_value_type(&after, "a", "count");
	test_profile_value_type(&after, "b", "count");
	test_profile_add(&before, "p;f", 0, 30);
	test_profile_add(&before, "p;g", 0, 10);
	test_profile_add(&after, "p;f", 0, 50);
	test_profile_add(&after, "p;f", 1, 1);
	const struct iaprof_profile *profile = compare(IAPROF_NORMALIZATION_TOTAL, false);
	ck_assert_double_eq(iaprof_profile_value_type(profile, 0)->before_factor, 1.25);
	ck_assert_double_eq(iaprof_profile_value_type(profile, 1)->before_factor, 1); /* nothing to scale */
}

TEST(needs_durations_to_compare_by_them)
{
	struct error error = { 0 };
	test_profile_get(&before);
	test_profile_get(&after);
	after.profile.end = after.profile.begin;
	struct difference_input input = { .before = &before.profile,
					  .after = &after.profile,
					  .normalization = IAPROF_NORMALIZATION_DURATION };
	ck_assert_ptr_null(difference_new(&input, &error));
	ck_assert_str_eq(error.text,
			 "the duration of the run after is not known: use --normalize total instead of duration");
	input = (struct difference_input){ .before = &after.profile,
					   .after = &before.profile,
					   .normalization = IAPROF_NORMALIZATION_DURATION };
	ck_assert_ptr_null(difference_new(&input, &error));
	ck_assert_ptr_nonnull(strstr(error.text, "the run before"));
}

int main(void)
{
	return run_all_tests(0, setup, teardown);
}
