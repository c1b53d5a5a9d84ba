/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A day of a continuous run in simulated time: intervals of a minute, and a program every four seconds with a name and
 * a file of its own, but with a process id and with addresses of CPU and GPU code that earlier programs had. Memory is
 * flat, and every sample of every interval is under the program that ran.
 */
#include <check.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "correlator_history.h"
#include "../run_suite.h"

#define HOUR (3600 * SECOND)
#define MINUTE (60 * SECOND)
/* A sanitizer takes its time. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HOURS 3u
#else
#define HOURS 24u
#endif
/* Hours whose greatest use of memory is compared: resolved stacks are released several times in them. */
#define WINDOW 5u
/* Tables grow by doubling, and the heap has gaps. */
#define SLACK ((size_t)1 << 20)

#define SAMPLES 4 /* the source of CPU samples */
#define CPU_TYPE 42
/* No process has such an id. */
#define PID_FIRST 5000000u
#define PIDS 50u
#define PROGRAMS_OF_INTERVAL 15u
#define CODE UINT64_C(0x400000)

/* The clock of the run, which advances with its records: linked with --wrap=clock_gettime. */
static uint64_t ahead;
int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = __real_clock_gettime(clock, time);
	if (clock == CLOCK_MONOTONIC)
		time->tv_sec += (time_t)(ahead / SECOND);
	return result;
}

/* As the process feed interns names and paths. */
static uint32_t passing(const char *name)
{
	return intern_passing_string(intern, name, strlen(name));
}

static void take_event(uint32_t pid, uint32_t event, const char *name, uint64_t time)
{
	struct iaprof_record_process record = { .pid = pid, .event = event, .name = passing(name) };
	take(0, &record, IAPROF_RECORD_PROCESS, sizeof record, time);
}

static void take_mapping(uint32_t pid, const char *path, uint64_t time)
{
	struct iaprof_record_mapping record = {
		.pid = pid, .path = passing(path), .start = CODE, .size = 0x1000, .inode = 1
	};
	take(0, &record, IAPROF_RECORD_MAPPING, sizeof record, time);
}

static void take_sample(uint32_t pid, uint64_t address, uint64_t value, uint64_t time)
{
	struct iaprof_record_sample record = { .pid = pid,
					       .user_stack = intern_stack(intern, pid, &address, 1),
					       .value_type = CPU_TYPE,
					       .count = 1,
					       .value = value,
					       .first_time = start + time };
	take(SAMPLES, &record, IAPROF_RECORD_SAMPLE, sizeof record, time);
}

/* Program number's samples have the value 1 + number % 7, and as many of its kernel. */
static uint64_t value_of(uint32_t number)
{
	return 1 + number % 7;
}

/* Long, so that resolved stacks are released several times in WINDOW. */
#define PATH_SIZE 2048
static void make_path(char path[PATH_SIZE], uint32_t number)
{
	snprintf(path, PATH_SIZE, "/build/%0*" PRIu32 "/program", PATH_SIZE - 32, number);
}

static void run_program(uint32_t number, uint64_t time)
{
	char name[32], path[PATH_SIZE];
	uint32_t pid = PID_FIRST + number % PIDS;
	snprintf(name, sizeof name, "program%" PRIu32, number);
	make_path(path, number);
	take_event(pid, IAPROF_PROCESS_FORK, "shell", time);
	take_event(pid, IAPROF_PROCESS_EXEC, name, time + 1);
	take_mapping(pid, path, time + 2);
	take_sample(pid, CODE + 0x10, value_of(number), time + SECOND / 10);
	uint32_t kernel = take_kernel(pid, "brief", BASE + 0x20000, time + SECOND / 10);
	take_launches(pid, kernel, 'z', 3, time + SECOND / 10, time + SECOND / 5);
	take_activity(pid, IAPROF_ACTIVITY_SCHEDULER, SECOND / 20, NULL, time + SECOND / 10, time + SECOND / 5);
	take_relative(0x20010, value_of(number), time + SECOND / 10, time + SECOND / 5);
	take_event(pid, IAPROF_PROCESS_EXIT, "", time + SECOND / 2);
}

static void pass_time(uint64_t time)
{
	tell(time);
	synchronize(time);
	for (struct block *block = collector_take_results(collector), *next; block; block = next) {
		next = block->next;
		block_release(block);
	}
}

/* Returns the number in the program's frame; UINT32_MAX: another program. */
static uint32_t program_of(const struct iaprof_profile *profile, const struct iaprof_stack *stack)
{
	uint32_t number = UINT32_MAX;
	return sscanf(iaprof_profile_frame(profile, stack->frames[0])->name, "program%" SCNu32, &number) == 1
		       ? number
		       : UINT32_MAX;
}

/* What an interval has of a program. */
struct seen {
	uint64_t cpu, stalls;
};

static void note_value(const struct iaprof_profile *profile, const struct iaprof_value *value, struct seen *seen,
		       uint32_t first)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
	const struct iaprof_frame *leaf = iaprof_profile_frame(profile, stack->frames[stack->frame_count - 1]);
	uint32_t number = program_of(profile, stack);
	ck_assert_msg(number >= first && number - first < PROGRAMS_OF_INTERVAL, "program %u in the interval from %u",
		      number, first);
	if (strcmp(iaprof_profile_value_type(profile, value->value_type)->name, "cpu") != 0) {
		seen[number - first].stalls += value->value;
		return;
	}
	char path[PATH_SIZE];
	make_path(path, number);
	ck_assert_str_eq(leaf->module, path);
	seen[number - first].cpu += value->value;
}

/* An interval has its programs, and no other. */
static void check_interval(const struct iaprof_profile *profile, uint32_t first)
{
	struct seen seen[PROGRAMS_OF_INTERVAL] = { 0 };
	for (size_t i = 0; i < profile->value_count; i++)
		note_value(profile, iaprof_profile_value(profile, i), seen, first);
	for (uint32_t i = 0; i < PROGRAMS_OF_INTERVAL; i++) {
		ck_assert_uint_eq(seen[i].cpu, value_of(first + i));
		ck_assert_uint_eq(seen[i].stalls, 2 * value_of(first + i));
	}
	ck_assert_uint_eq(profile->lost_count, 0);
}

static void end_interval(uint32_t first)
{
	collector_resolve(collector);
	struct snapshot *snapshot = collector_snapshot(collector, false);
	collector_begin_interval(collector);
	/* The collector has released what the interval had, but sinks still read it. */
	check_interval(&snapshot->profile, first);
	snapshot_release(snapshot);
}

static void declare_type(void)
{
	struct iaprof_record_value_type record = { .id = CPU_TYPE, .name = text("cpu"), .unit = text("nanoseconds") };
	take(SAMPLES, &record, IAPROF_RECORD_VALUE_TYPE, sizeof record, 0);
}

struct most {
	size_t bytes, strings, stacks, processes, frames;
};

static void note_memory(struct most *most)
{
	struct collector_memory memory = collector_memory(collector);
	struct mallinfo2 heap = mallinfo2();
	size_t used = heap.uordblks + heap.hblkhd; /* 0 where a sanitizer keeps the memory */
	most->bytes = used > most->bytes ? used : most->bytes;
	most->strings = memory.strings > most->strings ? memory.strings : most->strings;
	most->stacks = memory.stacks > most->stacks ? memory.stacks : most->stacks;
	most->processes = memory.processes > most->processes ? memory.processes : most->processes;
	most->frames = memory.frames > most->frames ? memory.frames : most->frames;
}

/* Four seconds for each program, and a minute for each interval. */
static void run_hours(uint64_t from, uint64_t to, struct most *most)
{
	for (uint64_t second = from * 3600; second < to * 3600; second += 2) {
		ahead += 2 * SECOND;
		if (second % 4 == 0)
			run_program((uint32_t)(second / 4), second * SECOND + SECOND / 10);
		pass_time((second + 2) * SECOND);
		if (second % 60 != 58)
			continue;
		note_memory(most);
		end_interval((uint32_t)(second / 60) * PROGRAMS_OF_INTERVAL);
	}
}

TEST(memory_is_flat_and_samples_are_of_the_program_that_ran)
{
	struct most early = { 0 }, between = { 0 }, late = { 0 };
	uint64_t window = HOURS < 2 * WINDOW ? 1 : WINDOW;
	declare_type();
	run_hours(0, window, &early);
	run_hours(window, HOURS - window, &between);
	run_hours(HOURS - window, HOURS, &late);
	ahead = 0; /* Check measures the test with this clock, and a day is too long for it */
	ck_assert_msg(late.bytes <= early.bytes + SLACK, "%zu bytes in the first hours, %zu in the last", early.bytes,
		      late.bytes);
	/* Their release is not in a short window. */
	ck_assert_msg(window < WINDOW || late.frames <= early.frames + SLACK, "frames: %zu bytes, then %zu",
		      early.frames, late.frames);
	/* A few minutes of programs at most. */
	ck_assert_uint_lt(late.strings, 1000);
	ck_assert_uint_lt(late.processes, 50);
	ck_assert_uint_le(late.stacks, 65536);
	ck_assert_uint_eq(statistics().matched, samples_in);
	ck_assert_uint_eq(collector_statistics(collector).out_of_memory, 0);
}

int main(void)
{
	history_continuous = true;
	history_resolution = SECOND;
	return run_all_tests(240, set_up, tear_down);
}
