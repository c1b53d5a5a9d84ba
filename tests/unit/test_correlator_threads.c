/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that launched kernels, and devices that ran them, in the stacks of device samples and in their replay. */
#include <check.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "correlator_history.h"
#include "../run_suite.h"

/* Samples of a device at the code of the process 10. */
static void take_stalls_of(uint32_t device, uint64_t count, uint64_t to)
{
	struct {
		struct iaprof_record_stall_sample head;
		uint64_t counts[1];
	} record = { .head = { .begin = start + to - SECOND,
			       .address = BASE + 0x1000,
			       .pid = 10,
			       .device = device,
			       .reason_count = 1 },
		     .counts = { count } };
	take(STALLS, &record, IAPROF_RECORD_STALL_SAMPLE, sizeof record, to);
	samples_in += count;
}

static void take_launch_of(uint32_t tid, const char *name, uint32_t kernel, uint64_t time, size_t size)
{
	uint64_t address = UINT64_C(0xffffffff81000004);
	struct iaprof_record_launch record = { .kernel = kernel,
					       .pid = 10,
					       .tid = tid,
					       .kernel_stack = intern_stack(intern, 0, &address, 1),
					       .count = 1,
					       .first_time = start + time,
					       .thread_name = text(name) };
	take(LAUNCHES, &record, IAPROF_RECORD_LAUNCH, size, time);
}

static bool is_text(const char *found, const char *wanted)
{
	return wanted ? found && !strcmp(found, wanted) : !found;
}

static uint64_t value_of(struct collector *of, uint32_t tid, const char *thread, const char *device)
{
	struct snapshot *snapshot = collector_snapshot(of, true);
	const struct iaprof_profile *profile = &snapshot->profile;
	uint64_t sum = 0;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		struct iaprof_stack_origin origin = iaprof_profile_stack(profile, value->stack)->origin;
		if (origin.tid == tid && is_text(origin.thread, thread) && is_text(origin.device, device))
			sum += value->value;
	}
	snapshot_release(snapshot);
	return sum;
}

static void take_devices(void)
{
	const char *const names[] = { "GPU 1", "GPU 2" };
	for (uint32_t i = 0; i < 2; i++) {
		struct iaprof_record_device device = { .id = i + 1, .name = text(names[i]) };
		take(STALLS, &device, IAPROF_RECORD_DEVICE, sizeof device, 0);
	}
}

static struct collector *replay_of_results(bool threads)
{
	struct collector *live = collector;
	history_threads = threads;
	struct collector *replay = make_collector(false, NULL);
	collector = replay; /* which has the devices from the capture */
	take_devices();
	collector = live;
	replay_results(live, replay);
	return replay;
}

/* _i: whether a sink of the replay requests threads */
TEST_LOOP(samples_have_the_thread_of_the_launch_and_the_device, 0, 2)
{
	take_devices();
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_launch_of(101, "reader", kernel, SECOND, sizeof(struct iaprof_record_launch));
	take_stalls_of(1, 100, 2 * SECOND);
	take_stalls_of(2, 10, 2 * SECOND);
	take_launch_of(102, "writer", kernel, 5 * SECOND, sizeof(struct iaprof_record_launch));
	take_stalls_of(2, 7, 5 * SECOND + MILLISECOND);
	take_launch_of(103, "not part of it", kernel, 9 * SECOND, offsetof(struct iaprof_record_launch, thread_name));
	take_stalls_of(1, 3, 9 * SECOND + MILLISECOND);
	tell(20 * SECOND);
	synchronize(20 * SECOND);
	collector_finish(collector);
	struct collector *replay = replay_of_results(_i);
	struct collector *const both[] = { collector, replay };
	for (int i = 0; i < 2; i++) {
		bool has_threads = !i || _i;
		ck_assert_uint_eq(value_of(both[i], 101, "reader", "GPU 1"), has_threads ? 100 : 0);
		ck_assert_uint_eq(value_of(both[i], 101, "reader", "GPU 2"), has_threads ? 10 : 0);
		ck_assert_uint_eq(value_of(both[i], 102, "writer", "GPU 2"), has_threads ? 7 : 0);
		ck_assert_uint_eq(value_of(both[i], 103, NULL, "GPU 1"), has_threads ? 3 : 0);
		ck_assert_uint_eq(value_of(both[i], 0, NULL, NULL), has_threads ? 0 : samples_in);
		ck_assert_uint_eq(sum_of(both[i], "first;site_a;-;add"), samples_in);
	}
	collector_free(replay);
}

static void take_device_at(uint16_t source, uint32_t id, const char *name, const char *address)
{
	struct iaprof_record_device device = {
		.id = id, .name = text(name), .address = text(address), .sample_unit = source == STALLS ? text("EU") : 0
	};
	take(source, &device, IAPROF_RECORD_DEVICE, sizeof device, 0);
}

/* Returns the time of a device in stacks that end with a stall reason's offset, or with a kernel. */
static uint64_t time_of(const char *device, bool is_sampled)
{
	struct snapshot *snapshot = collector_snapshot(collector, true);
	const struct iaprof_profile *profile = &snapshot->profile;
	uint64_t sum = 0;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
		uint32_t leaf = iaprof_profile_frame(profile, stack->frames[stack->frame_count - 1])->kind;
		if (iaprof_profile_value_type(profile, value->value_type)->role == IAPROF_VALUE_DEVICE_TIME &&
		    is_text(stack->origin.device, device) && is_sampled == (leaf != IAPROF_FRAME_DEVICE_FUNCTION))
			sum += value->value;
	}
	snapshot_release(snapshot);
	return sum;
}

/* One source sends the executions of two GPUs, and another one their samples; a third GPU has no samples. */
TEST(executions_and_samples_at_an_address_are_of_one_device)
{
	struct iaprof_record_value_type type = { .id = intern_value_type(intern, "gpu-time", "nanoseconds"),
						 .name = text("gpu-time"),
						 .unit = text("nanoseconds") };
	take(LAUNCHES, &type, IAPROF_RECORD_VALUE_TYPE, sizeof type, 0);
	static const char *const addresses[] = { "0000:03:00.0", "0000:04:00.0", "0000:05:00.0" };
	take_device_at(LAUNCHES, 7, "GPU", addresses[0]);
	take_device_at(STALLS, 2, "first GPU", addresses[0]);
	take_device_at(STALLS, 3, "second GPU", addresses[1]);
	take_device_at(LAUNCHES, 8, "GPU", addresses[1]);
	take_device_at(LAUNCHES, 9, "GPU", addresses[2]);
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_launch_of(101, "reader", kernel, SECOND, sizeof(struct iaprof_record_launch));
	take_stalls_of(2, 100, 2 * SECOND);
	take_stalls_of(3, 300, 2 * SECOND);
	for (uint32_t id = 7; id < 10; id++) {
		struct iaprof_record_job job = {
			.started = start + SECOND, .device = id, .pid = 10, .kernel = kernel, .time_type = type.id
		};
		take(LAUNCHES, &job, IAPROF_RECORD_JOB, sizeof job, SECOND + 1000 * id);
	}
	collector_finish(collector);
	ck_assert_uint_eq(time_of("first GPU", true), 7000);
	ck_assert_uint_eq(time_of("second GPU", true), 8000);
	ck_assert_uint_eq(time_of("GPU at 0000:05:00.0", false), 9000);
	ck_assert_uint_eq(time_of("first GPU", false) + time_of("second GPU", false), 0);
}

TEST(threads_and_devices_are_merged_without_a_request)
{
	collector_free(collector);
	history_threads = false;
	collector = make_collector(true, NULL);
	announce();
	take_devices();
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_launch_of(101, "reader", kernel, SECOND, sizeof(struct iaprof_record_launch));
	take_stalls_of(1, 100, 2 * SECOND);
	take_stalls_of(2, 10, 2 * SECOND);
	collector_finish(collector);
	ck_assert_uint_eq(value_of(collector, 0, NULL, NULL), samples_in);
}

static void set_up_with_threads(void)
{
	history_threads = true;
	set_up();
}

int main(void)
{
	return run_all_tests(0, set_up_with_threads, tear_down);
}
