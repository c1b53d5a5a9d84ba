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

/* Checks the values of type device-idle, as "frame;frame ms" lines. */
static void expect(const char *wanted)
{
	struct text lines = { 0 };
	collector_finish(collector);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	const struct iaprof_profile *profile = &snapshot->profile;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
		if (strcmp(iaprof_profile_value_type(profile, value->value_type)->name, "device-idle") != 0)
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

int main(void)
{
	return run_all_tests(0, set_up, end_collector);
}
