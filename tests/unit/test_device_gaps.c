/* SPDX-License-Identifier: Apache-2.0 */
/* Idle gaps of devices: their sums, by construction, and what the threads that end them did. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector_records.h"
#include "profile/device_gaps.h"
#include "text/text.h"
#include "../run_suite.h"

#define PID 10
#define OTHER 11
#define MS UINT64_C(1000000)
#define START UINT64_C(1000000000)

static void set_up(void)
{
	intern = intern_new(NULL);
	collector = collector_new(&(struct collector_options){ .intern = intern });
	ck_assert_ptr_nonnull(collector);
	take_cpu_type(0);
	take_process(PID, IAPROF_PROCESS_EXISTING, "program", START);
	take_process(OTHER, IAPROF_PROCESS_EXISTING, "other", START);
}

/* Times are in ms since START. */
static void take_job(uint32_t device, uint32_t pid, uint64_t queued, uint64_t end)
{
	struct iaprof_record_job job = {
		.queued = START + queued * MS, .pid = pid, .tid = pid + 100, .device = device, .state = IAPROF_JOB_DONE
	};
	take(&job, IAPROF_RECORD_JOB, sizeof job, START + end * MS);
}

static void take_thread(uint32_t tid, const char *reason, uint64_t begin, uint64_t end, uint64_t value)
{
	struct iaprof_record_sample sample = { .pid = PID,
					       .tid = tid,
					       .value_type = CPU_TYPE,
					       .count = 1,
					       .value = value * MS,
					       .first_time = START + begin * MS,
					       .reason = reason ? text(reason) : 0 };
	take(&sample, IAPROF_RECORD_SAMPLE, sizeof sample, START + end * MS);
}

/* Checks the values of a type, as "frame;frame ms" lines. */
static void expect_values(const char *value_type, const char *wanted)
{
	struct text lines = { 0 };
	collector_finish(collector);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	const struct iaprof_profile *profile = &snapshot->profile;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
		if (strcmp(iaprof_profile_value_type(profile, value->value_type)->name, value_type) != 0)
			continue;
		for (uint32_t frame = 0; frame < stack->frame_count; frame++)
			text_append_format(&lines, "%s%s", frame ? ";" : "",
					   iaprof_profile_frame(profile, stack->frames[frame])->name);
		text_append_format(&lines, " %g\n", (double)value->value / (double)MS);
	}
	snapshot_release(snapshot);
	ck_assert_str_eq(lines.size ? text_string(&lines) : "", wanted);
	text_free(&lines);
}

static void expect(const char *wanted)
{
	expect_values("device-idle", wanted);
}

static uint64_t idle(uint32_t device, uint32_t pid)
{
	size_t count;
	const struct device_gap_sum *sums = collector_gaps(collector, &count);
	for (size_t i = 0; i < count; i++)
		if (sums[i].key.device == device && sums[i].key.pid == pid)
			return sums[i].idle / MS;
	return UINT64_MAX;
}

TEST(gaps_are_what_the_thread_did)
{
	take_job(1, PID, 0, 10);
	take_job(1, PID, 50, 60);
	take_thread(PID + 100, "[disk]", 5, 25, 20);
	take_thread(PID + 100, NULL, 35, 35, 10); /* ran from 25 to 35 */
	take_thread(PID + 1, "[lock]", 0, 100, 100);
	expect("program;[disk] 15\nprogram;[running] 20\nprogram;[not sampled] 5\n");
	ck_assert_uint_eq(idle(1, PID), 40);
}

/* What a thread did not wait, it ran, even where no sample is. */
TEST(samples_stand_for_what_waits_leave)
{
	take_job(1, PID, 0, 10);
	take_job(1, PID, 50, 60);
	take_thread(PID + 100, "[disk]", 5, 25, 20);
	take_thread(PID + 100, NULL, 48, 48, 20); /* ran from 28 to 48 */
	expect("program;[disk] 15\nprogram;[running] 25\n");
}

/* Parts never add up to more than their gap: sums over many waits are spread evenly. */
TEST(parts_add_up_to_the_gap)
{
	take_job(1, PID, 0, 10);
	take_job(1, PID, 20, 30);
	take_thread(PID + 100, "[disk]", 0, 40, 80);
	take_thread(PID + 100, "[lock]", 0, 40, 80);
	expect("program;[disk] 5\nprogram;[lock] 5\n");
}

/* Jobs overlap, arrive in the order of their ends, and are of several devices. */
TEST(overlapping_jobs_leave_no_gap)
{
	take_thread(PID + 100, "[disk]", 0, 1, 1);
	take_job(1, PID, 20, 30);
	take_job(1, PID, 0, 40);
	take_job(1, PID, 45, 50);
	take_job(2, PID, 0, 1);
	take_job(2, PID, 101, 102);
	expect("program;[not sampled] 105\n");
	ck_assert_uint_eq(idle(1, PID), 5);
	ck_assert_uint_eq(idle(2, PID), 100);
}

/* Nobody used the device before a process's first job. */
TEST(first_jobs_end_no_gap)
{
	take_thread(PID + 100, "[disk]", 0, 1, 1);
	take_job(1, PID, 0, 10);
	take_job(1, OTHER, 20, 30);
	take_job(1, OTHER, 33, 40);
	take_job(1, PID, 47, 50);
	expect("other;[not sampled] 3\nprogram;[not sampled] 7\n");
	ck_assert_uint_eq(idle(1, OTHER), 3);
	ck_assert_uint_eq(idle(1, PID), 7);
}

TEST(without_waits_there_are_no_gaps)
{
	take_job(1, PID, 0, 10);
	take_job(1, PID, 50, 60);
	take_thread(PID + 100, NULL, 35, 35, 10);
	expect("");
	ck_assert_uint_eq(idle(1, PID), UINT64_MAX);
}

/* Early ones are settled when there are too many, and no time is lost. */
TEST(many_jobs_are_bounded)
{
	enum { MANY = 3 * DEVICE_GAPS_HELD_MAX };
	take_thread(PID + 100, "[disk]", 0, 1, 1);
	for (uint64_t i = 0; i < MANY; i++)
		take_job(1, PID, 2 * i, 2 * i + 1);
	collector_finish(collector);
	ck_assert_uint_eq(idle(1, PID), MANY - 1);
}

#define US UINT64_C(1000)

/* An execution of a kernel; times are in us since START. */
static void execute(uint64_t begin, uint64_t end)
{
	struct iaprof_record_job job = {
		.started = START + begin * US, .pid = PID, .device = 7, .kernel = 1, .time_type = CPU_TYPE
	};
	take(&job, IAPROF_RECORD_JOB, sizeof job, START + end * US);
}

static void take_gpu(void)
{
	struct iaprof_record_device device = { .id = 7, .name = text("GPU"), .kind = IAPROF_DEVICE_GPU };
	take(&device, IAPROF_RECORD_DEVICE, sizeof device, START);
}

static void launch(uint32_t tid, uint64_t time)
{
	struct iaprof_record_launch record = { .kernel = 1, .pid = PID, .tid = tid, .count = 1 };
	record.first_time = START + time * US;
	take(&record, IAPROF_RECORD_LAUNCH, sizeof record, START + time * US);
}

/* All idle time is in the profile: as long as a kernel takes to start, as long as a launch takes, and what a thread
 * did. */
TEST(idle_time_between_kernels_is_what_the_launching_thread_did)
{
	take_gpu();
	launch(PID + 100, 50);
	launch(PID + 1, 90000);
	execute(100, 1000);
	execute(1001, 2000);   /* 1 us */
	execute(2010, 3000);   /* 10 us while the thread runs */
	execute(33000, 34000); /* 30 ms, of which the thread waits 20 ms */
	execute(34011, 35000); /* 11 us while the thread waits */
	execute(95000, 96000); /* 60 ms, and then another thread launches */
	take_thread(PID + 100, NULL, 3, 3, 3);
	take_thread(PID + 100, "[disk]", 3, 23, 20);
	take_thread(PID + 100, NULL, 33, 33, 10);
	take_thread(PID + 100, "[lock]", 33, 90, 57);
	take_thread(PID + 1, "[queue]", 0, 95, 95);
	expect_values("gpu-idle", "program;[between kernels];[GPU idle] 0.012\n"
				  "program;[launch-bound];[GPU idle] 0.01\n"
				  "program;[disk];[GPU idle] 20\n"
				  "program;[running];[GPU idle] 10\n"
				  "program;[queue];[GPU idle] 60\n");
	expect("");
}

/* Times are in us since START. */
static void copy(uint32_t kind, uint64_t begin, uint64_t end)
{
	struct iaprof_record_job job = {
		.started = START + begin * US, .pid = PID, .device = 7, .kernel = 2, .time_type = CPU_TYPE, .copy = kind
	};
	take(&job, IAPROF_RECORD_JOB, sizeof job, START + end * US);
}

/* A gap is divided where copies begin and end, and what the thread did is looked up in each part. */
TEST(a_device_that_is_idle_while_it_copies_waits_for_the_copy)
{
	take_gpu();
	launch(PID + 100, 50);
	execute(100, 1000);
	copy(IAPROF_COPY_DEVICE_TO_HOST, 2000, 3000);
	copy(IAPROF_COPY_HOST_TO_DEVICE, 2500, 6000); /* the one that ends last counts for both */
	copy(IAPROF_COPY_SET, 8000, 10500);           /* up to the begin of a kernel that it overlaps */
	execute(10000, 12000);
	copy(IAPROF_COPY_HOST_TO_DEVICE, 10600, 11000); /* beside a kernel */
	execute(12300, 13000);
	take_thread(PID + 100, "[disk]", 1, 2, 1);
	take_thread(PID + 100, "[sync]", 2, 6, 4);
	take_thread(PID + 100, NULL, 8, 8, 2); /* ran from 6 to 8 */
	expect_values("gpu-idle", "program;[disk];[GPU idle] 1\n"
				  "program;[copy device to host];[GPU idle] 0.5\n"
				  "program;[copy host to device];[GPU idle] 3.5\n"
				  "program;[running];[GPU idle] 2\n"
				  "program;[memory set];[GPU idle] 2\n"
				  "program;[not sampled];[GPU idle] 0.3\n");
}

/* In a profile with devices, idle time names the device that was idle. */
TEST_LOOP(idle_time_is_of_its_device, 0, 2)
{
	static const char *const names[] = { "first GPU", "second GPU" };
	uint64_t sums[2] = { 0 };
	collector_free(collector);
	collector = collector_new(&(struct collector_options){ .intern = intern, .threads = _i });
	ck_assert_ptr_nonnull(collector);
	take_cpu_type(0);
	for (uint32_t i = 0; i < 2; i++) {
		struct iaprof_record_device device = { .id = i + 1, .name = text(names[i]), .kind = IAPROF_DEVICE_GPU };
		take(&device, IAPROF_RECORD_DEVICE, sizeof device, START);
	}
	take_thread(PID + 100, "[disk]", 0, 9, 9);
	for (uint32_t i = 0; i < 4; i++) {
		struct iaprof_record_job job = { .started = START + i / 2 * (1 + i % 2) * 4 * MS,
						 .pid = PID,
						 .tid = PID + 100,
						 .device = 1 + i % 2,
						 .kernel = 1,
						 .time_type = CPU_TYPE };
		take(&job, IAPROF_RECORD_JOB, sizeof job, job.started + MS);
	}
	collector_finish(collector);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	const struct iaprof_profile *profile = &snapshot->profile;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		const char *device = iaprof_profile_stack(profile, value->stack)->origin.device;
		if (iaprof_profile_value_type(profile, value->value_type)->role != IAPROF_VALUE_DEVICE_IDLE)
			continue;
		ck_assert(_i ? device != NULL : !device);
		sums[device && !strcmp(device, names[1])] += value->value / MS;
	}
	ck_assert_uint_eq(sums[0], _i ? 3 : 10);
	ck_assert_uint_eq(sums[1], _i ? 7 : 0);
	snapshot_release(snapshot);
}

/* Without samples, how long it was idle is known all the same. */
TEST(idle_time_needs_no_samples)
{
	take_gpu();
	execute(0, 1000);
	execute(4000, 5000);
	expect_values("gpu-idle", "program;[not sampled];[GPU idle] 3\n");
}

/* Many short gaps are added up: none is lost. */
TEST(short_gaps_in_a_row_are_one)
{
	enum { MANY = 200001 };
	take_gpu();
	for (uint64_t i = 0; i < MANY; i++)
		execute(10 * i, 10 * i + 5);
	expect_values("gpu-idle", "program;[not sampled];[GPU idle] 1000\n");
}

int main(void)
{
	return run_all_tests(0, set_up, end_collector);
}
