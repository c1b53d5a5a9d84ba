/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a profile in order of time: their sums are those of the profile, whatever its time slots contain. */
#include <check.h>
#include <stdlib.h>

#include "plugin/test_profile.h"
#include "stacks/timed_values.h"
#include "../run_suite.h"

static struct test_profile profile;
static struct timed_values values;
static uint32_t cpu, gpu, left, right;

static void setup(void)
{
	profile = (struct test_profile){ .time_width = 20, .total_width = 20 };
	values = (struct timed_values){ 0 };
	cpu = test_profile_value_type(&profile, "cpu", "nanoseconds");
	gpu = test_profile_value_type(&profile, "gpu-stalls", "count");
	uint32_t frame =
		test_profile_frame(&profile, &(struct iaprof_frame){ .name = "one", .kind = IAPROF_FRAME_PROCESS });
	left = test_profile_stack(&profile, &frame, 1);
	right = test_profile_stack(&profile, &frame, 1);
}

static void teardown(void)
{
	timed_values_free(&values);
	test_profile_free(&profile);
}

static void add(uint32_t stack, uint32_t value_type, uint64_t value, uint64_t count)
{
	test_profile_value(&profile, stack, value_type, value);
	profile.values.items[profile.values.count - 1].count = count;
}

static void expect(size_t i, uint64_t time, uint32_t stack, uint32_t value_type, uint64_t value, uint64_t count)
{
	ck_assert_uint_lt(i, values.items.count);
	const struct timed_value *found = &values.items.items[i];
	ck_assert_uint_eq(found->time, time);
	ck_assert_uint_eq(found->stack, stack);
	ck_assert_uint_eq(found->value_type, value_type);
	ck_assert_uint_eq(found->value, value);
	ck_assert_uint_eq(found->count, count);
}

/* Counts are divided in proportion, and none is lost to rounding. */
TEST(values_are_in_order_of_time)
{
	add(right, gpu, 7, 7);
	add(left, cpu, 100, 5);
	add(right, cpu, 10, 1);
	test_profile_time(&profile, right, gpu, 2000, 7);
	test_profile_time(&profile, left, cpu, 2040, 33);
	test_profile_time(&profile, left, cpu, 2000, 33);
	test_profile_time(&profile, left, cpu, 2060, 34);
	test_profile_time(&profile, right, cpu, 2000, 10);
	ck_assert(timed_values_make(&values, test_profile_get(&profile), 20));
	ck_assert_uint_eq(values.width, 20);
	ck_assert_uint_eq(values.items.count, 5);
	expect(0, 2000, left, cpu, 33, 1);
	expect(1, 2000, right, cpu, 10, 1);
	expect(2, 2040, left, cpu, 33, 2);
	expect(3, 2060, left, cpu, 34, 2);
	expect(4, 2000, right, gpu, 7, 7);
}

TEST(slots_are_merged_to_the_step)
{
	add(left, cpu, 60, 6);
	test_profile_time(&profile, left, cpu, 2000, 10);
	test_profile_time(&profile, left, cpu, 2020, 20);
	test_profile_time(&profile, left, cpu, 2060, 30);
	/* The least multiple of the width that is not below 50. */
	ck_assert(timed_values_make(&values, test_profile_get(&profile), 50));
	ck_assert_uint_eq(values.width, 60);
	ck_assert_uint_eq(values.items.count, 2);
	expect(0, 1980, left, cpu, 30, 3);
	expect(1, 2040, left, cpu, 30, 3);
}

TEST(what_has_no_time_is_at_the_begin)
{
	add(left, cpu, 100, 10);
	add(right, cpu, 50, 5);
	test_profile_time(&profile, left, cpu, 2000, 70);
	ck_assert(timed_values_make(&values, test_profile_get(&profile), 20));
	ck_assert_uint_eq(values.items.count, 3);
	expect(0, TEST_PROFILE_BEGIN, left, cpu, 30, 3);
	expect(1, TEST_PROFILE_BEGIN, right, cpu, 50, 5);
	expect(2, 2000, left, cpu, 70, 7);
}

/* Slots that have more than the profile, or what it lacks, add nothing. */
TEST(sums_are_those_of_the_profile)
{
	add(left, cpu, 10, 1);
	add(right, gpu, 0, 1);
	test_profile_time(&profile, left, cpu, 2000, 8);
	test_profile_time(&profile, left, cpu, 2020, 8);
	test_profile_time(&profile, left, cpu, 2040, 8);
	test_profile_time(&profile, right, cpu, 2000, 8);
	test_profile_time(&profile, right, gpu, 2000, 8);
	ck_assert(timed_values_make(&values, test_profile_get(&profile), 20));
	ck_assert_uint_eq(values.items.count, 2);
	expect(0, 2000, left, cpu, 8, 0);
	expect(1, 2020, left, cpu, 2, 1);
}

TEST(without_times_all_are_at_the_begin)
{
	add(right, cpu, 2, 2);
	add(left, cpu, UINT64_MAX, UINT64_MAX);
	ck_assert(timed_values_make(&values, test_profile_get(&profile), 20));
	ck_assert_uint_eq(values.width, 0);
	ck_assert_uint_eq(values.items.count, 2);
	expect(0, TEST_PROFILE_BEGIN, left, cpu, UINT64_MAX, UINT64_MAX);
	expect(1, TEST_PROFILE_BEGIN, right, cpu, 2, 2);
	timed_values_free(&values);
	test_profile_free(&profile);
	ck_assert(timed_values_make(&values, test_profile_get(&profile), 20));
	ck_assert_uint_eq(values.items.count, 0);
}

int main(void)
{
	return run_all_tests(0, setup, teardown);
}
