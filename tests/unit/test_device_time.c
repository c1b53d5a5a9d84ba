/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of executions that overlap, and the time of kernels divided among their samples: values by construction. */
#include <check.h>
#include <stdlib.h>

#include "correlator/device_time.h"
#include "plugin/test_profile.h"
#include "profile/sampled_time.h"
#include "../run_suite.h"

static struct device_time device_time;
static uint64_t shares[16]; /* by correlation */

static void take(void *context, const struct iaprof_record_job *job, uint64_t share)
{
	ck_assert_uint_eq(shares[job->correlation], UINT64_MAX); /* once */
	shares[job->correlation] = share;
}

static uint64_t idle_sum;
static bool idle_is_estimated;

static void take_idle(void *context, const struct iaprof_record_job *job, uint64_t begin, uint64_t idle)
{
	ck_assert_uint_le(idle, job->started - begin);
	idle_is_estimated = iaprof_record_job_is_estimate(job);
	idle_sum += idle;
}

static void set_up(void)
{
	device_time = (struct device_time){ .take = take, .take_idle = take_idle };
	idle_sum = 0;
	memset(shares, 0xff, sizeof shares);
}

static void tear_down(void)
{
	device_time_free(&device_time);
}

static void run_for(uint32_t represents, uint64_t number, uint64_t begin, uint64_t end)
{
	struct iaprof_record_job job = { .header = { .size = sizeof job, .source = 1, .time = end },
					 .device = 1,
					 .started = begin,
					 .correlation = number,
					 .represents = represents };
	ck_assert(device_time_add(&device_time, &job));
}

static void run(uint32_t device, uint64_t number, uint64_t begin, uint64_t end)
{
	struct iaprof_record_job job = { .header = { .size = sizeof job, .source = 1, .time = end },
					 .device = device,
					 .started = begin,
					 .correlation = number };
	ck_assert(device_time_add(&device_time, &job));
}

TEST(executions_that_overlap_share_the_time)
{
	run(1, 1, 1000, 2000);
	run(1, 2, 1500, 2500); /* half of 500, and 500 */
	run(1, 3, 1600, 1600); /* took no time */
	run(1, 4, 3000, 3300); /* three at once */
	run(1, 5, 3000, 3300);
	run(1, 6, 3000, 3300);
	run(2, 7, 1000, 2000); /* another device */
	device_time_divide(&device_time, UINT64_MAX);
	const uint64_t expected[] = { UINT64_MAX, 750, 750, 0, 100, 100, 100, 1000 };
	for (size_t i = 1; i < sizeof expected / sizeof *expected; i++)
		ck_assert_uint_eq(shares[i], expected[i]);
	ck_assert_uint_eq(idle_sum, 500); /* of the first device; the second one ran once */
}

static void run_copy(uint32_t copy, uint64_t number, uint64_t begin, uint64_t end)
{
	struct iaprof_record_job job = { .header = { .size = sizeof job, .source = 1, .time = end },
					 .device = 1,
					 .started = begin,
					 .kernel = 1,
					 .time_type = 1,
					 .correlation = number,
					 .copy = copy };
	ck_assert(device_time_add(&device_time, &job));
}

TEST(copies_share_time_with_those_of_their_kind_alone)
{
	run_copy(IAPROF_COPY_NONE, 1, 1000, 2000);
	run_copy(IAPROF_COPY_NONE, 2, 3000, 4000);
	run_copy(IAPROF_COPY_HOST_TO_DEVICE, 3, 900, 1900);
	run_copy(IAPROF_COPY_HOST_TO_DEVICE, 4, 1400, 2400); /* shares 500 with the one before */
	run_copy(IAPROF_COPY_DEVICE_TO_HOST, 5, 1000, 5000);
	run_copy(IAPROF_COPY_DEVICE_TO_HOST, 6, 9000, 9500);
	device_time_divide(&device_time, UINT64_MAX);
	const uint64_t expected[] = { UINT64_MAX, 1000, 1000, 750, 750, 4000, 500 };
	for (size_t i = 1; i < sizeof expected / sizeof *expected; i++)
		ck_assert_uint_eq(shares[i], expected[i]);
	ck_assert_uint_eq(idle_sum, 1000); /* of the kernels; while nothing is copied, nothing waits */
}

TEST(an_execution_waits_for_those_that_overlap_it)
{
	run(1, 1, 1000, 2000);
	device_time_divide(&device_time, 900);
	ck_assert_uint_eq(idle_sum, 0); /* nothing before the first execution */
	device_time_divide(&device_time, 1800);
	ck_assert_uint_eq(shares[1], UINT64_MAX);
	run(1, 2, 1900, 2100);
	device_time_divide(&device_time, 2050);
	ck_assert_uint_eq(shares[1], 950);
	ck_assert_uint_eq(shares[2], UINT64_MAX);
	device_time_divide(&device_time, UINT64_MAX);
	ck_assert_uint_eq(shares[2], 50 + 100);
}

TEST(one_that_ends_late_has_what_was_idle)
{
	run(1, 1, 1000, 2000);
	run(1, 2, 2600, 3000);
	device_time_divide(&device_time, 3000);
	run(1, 3, 500, 4000);
	run(1, 4, 700, 2500); /* what 3 has is no longer idle */
	device_time_divide(&device_time, UINT64_MAX);
	ck_assert_uint_eq(shares[1] + shares[2], 1400);
	ck_assert_uint_eq(shares[3], 500 + 600 + 1000);
	ck_assert_uint_eq(shares[4], 0);
	ck_assert_uint_eq(idle_sum, 600); /* passed on before 3 ended, which took it back: the next idle time is less */
	run(1, 5, 5000, 5100);
	device_time_divide(&device_time, UINT64_MAX);
	ck_assert_uint_eq(idle_sum, 1000);
}

TEST(an_execution_adds_the_time_of_those_that_it_represents)
{
	run_for(1, 1, 1000, 1100);
	run_for(4, 2, 2000, 2150);
	device_time_divide(&device_time, 2150);
	ck_assert_uint_eq(shares[1], 100);
	ck_assert_uint_eq(shares[2], 600);
	ck_assert_uint_eq(idle_sum, 0); /* the next ones may represent executions until now */
	run_for(2, 3, 2500, 3000);
	device_time_divide(&device_time, 3000);
	device_time_divide(&device_time, UINT64_MAX);
	ck_assert_uint_eq(shares[3], 1000);
	ck_assert_uint_eq(idle_sum, 2000 - 100 - 600 - 1000);
	ck_assert(idle_is_estimated);
}

static void add_share(void *context, const struct iaprof_record_job *job, uint64_t share)
{
	uint64_t *sum = context;
	*sum += share;
}

TEST(shares_add_up_to_the_busy_time)
{
	enum { COUNT = 3000 };
	static bool is_busy[COUNT * 40 + 4000];
	uint64_t state = 7, busy = 0;
	uint64_t sum = 0;
	device_time = (struct device_time){ .take = add_share, .context = &sum };
	for (uint64_t i = 0; i < COUNT; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		uint64_t begin = i * 40 + (state >> 40) % 900, end = begin + (state >> 20) % 700;
		run(1, 0, begin, end);
		for (uint64_t at = begin; at < end; at++)
			is_busy[at] = true;
		if (i % 100 == 99)
			device_time_divide(&device_time, (i - 60) * 40);
	}
	device_time_divide(&device_time, UINT64_MAX);
	for (size_t i = 0; i < sizeof is_busy; i++)
		busy += is_busy[i];
	ck_assert_uint_le(busy - sum, 1); /* less than one nanosecond is not passed on */
}

static struct test_profile profile;

static uint32_t add_frame(const char *name, uint32_t kind, uint32_t line)
{
	return test_profile_frame(&profile, &(struct iaprof_frame){ .name = name, .kind = kind, .line = line });
}

/* Of a launch site, a or b; without a reason, of an execution. */
static uint32_t stack(char site, const char *kernel, const char *reason)
{
	if (!profile.frames.count) {
		add_frame("program", IAPROF_FRAME_PROCESS, 0);
		add_frame("a", IAPROF_FRAME_USER, 0);
		add_frame("b", IAPROF_FRAME_USER, 0);
	}
	uint32_t frames[5] = { 0, 1 + (uint32_t)(site - 'a') }, count = 2;
	if (reason)
		frames[count++] = add_frame("k.cl", IAPROF_FRAME_DEVICE_SOURCE, 0);
	frames[count++] = add_frame(kernel, IAPROF_FRAME_DEVICE_FUNCTION, reason ? 7 : 0);
	if (reason)
		frames[count++] = add_frame(reason, IAPROF_FRAME_STALL_REASON, 0);
	return test_profile_stack(&profile, frames, count);
}

static uint64_t value_of(const struct iaprof_profile *divided, uint32_t stack, uint32_t value_type)
{
	uint64_t sum = 0, found = 0;
	for (size_t i = 0; i < divided->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(divided, i);
		if (value->stack == stack && value->value_type == value_type) {
			sum += value->value;
			found++;
		}
	}
	ck_assert_uint_le(found, 1);
	return sum;
}

TEST(time_of_a_kernel_is_divided_among_its_samples)
{
	profile = (struct test_profile){ .time_width = 1000, .total_width = 1000 };
	struct snapshot_memory memory = { 0 };
	uint32_t samples = test_profile_value_type(&profile, "gpu-stalls", "count"),
		 time = test_profile_value_type(&profile, "gpu-time", "nanoseconds");
	uint32_t here = stack('a', "add", NULL), data = stack('a', "add", "data"),
		 barrier = stack('a', "add", "barrier"), elsewhere = stack('b', "add", "data"),
		 unsampled = stack('b', "mul", NULL);
	test_profile_value(&profile, here, time, 1000);
	test_profile_value(&profile, unsampled, time, 500);
	test_profile_value(&profile, data, samples, 2);
	test_profile_value(&profile, barrier, samples, 1);
	test_profile_value(&profile, elsewhere, samples, 70); /* of another launch site */
	test_profile_time(&profile, here, time, 5000, 400);
	test_profile_time(&profile, here, time, 7000, 600);
	struct iaprof_profile divided = *test_profile_get(&profile);
	sampled_time_divide(&divided, &memory);
	ck_assert(!memory.failed);
	ck_assert_uint_eq(value_of(&divided, here, time), 0);
	ck_assert_uint_eq(value_of(&divided, data, time) + value_of(&divided, barrier, time), 1000);
	ck_assert_uint_le(value_of(&divided, data, time) - 666, 1);
	ck_assert_uint_eq(value_of(&divided, elsewhere, time), 0);
	ck_assert_uint_eq(value_of(&divided, unsampled, time), 500);
	ck_assert_uint_eq(value_of(&divided, data, samples), 2);
	ck_assert_uint_eq(value_of(&divided, elsewhere, samples), 70);
	uint64_t sums[2] = { 0 };
	for (size_t i = 0; i < divided.time_count; i++) {
		const struct iaprof_time_value *value = iaprof_profile_time(&divided, i);
		ck_assert(value->stack == data || value->stack == barrier);
		sums[value->time == 7000] += value->value;
	}
	ck_assert_uint_eq(sums[0], 400);
	ck_assert_uint_eq(sums[1], 600);
	snapshot_memory_free(&memory);
	test_profile_free(&profile);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
