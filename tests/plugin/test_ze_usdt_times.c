/* SPDX-License-Identifier: Apache-2.0 */
/* Times of launches: each launch is represented once, by a time of its own stack. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "ze-usdt/probes.h"
#include "ze-usdt/times.h"
#include "../run_suite.h"

#define MILLISECOND UINT64_C(1000000)

static struct iaprof_record_job jobs[1024];
static size_t job_count;
static struct iaprof_record_device devices[8];
static size_t device_count;
static unsigned warnings;
static uint64_t counted_time = 50;

static int emit(const struct iaprof_host *host, const struct iaprof_batch *batch)
{
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));)
		if (record->type == IAPROF_RECORD_JOB)
			memcpy(&jobs[job_count++], record, sizeof jobs[0]);
		else
			memcpy(&devices[device_count++], record, sizeof devices[0]);
	return 0;
}

static uint64_t read_clock(const struct iaprof_host *host)
{
	return 1;
}

static uint32_t intern_string(const struct iaprof_host *host, const char *text, size_t size)
{
	return 1 + (uint32_t)size;
}

static uint32_t declare_value_type(const struct iaprof_host *host, const char *name, const char *unit, uint64_t period)
{
	ck_assert_str_eq(unit, "nanoseconds");
	return 77;
}

static void metadata(const struct iaprof_host *host, const char *key, const char *format, ...)
{
}

static void log_message(const struct iaprof_host *host, int level, const char *format, ...)
{
	warnings += level == IAPROF_LOG_WARNING;
}

static const struct iaprof_host host = { .emit = emit,
					 .clock = read_clock,
					 .intern_string = intern_string,
					 .declare_value_type = declare_value_type,
					 .metadata = metadata,
					 .log = log_message };
static struct record_batch batch;
static struct times times;

static void begin(bool is_complete)
{
	ck_assert_int_eq(record_batch_init(&batch, &host), 0);
	times = (struct times){ .host = &host, .batch = &batch, .is_on = true, .is_complete = is_complete };
	job_count = device_count = warnings = 0;
}

static void end(void)
{
	times_describe(&times);
	times_free(&times);
	record_batch_free(&batch);
}

static struct ze_launch_key key_of(uint64_t stack)
{
	return (struct ze_launch_key){
		.process = { .id = 5, .program = 1 }, .kernel = 9, .user_stack = stack, .thread = 6
	};
}

static void launched(uint64_t stack, uint32_t cell, uint64_t count)
{
	struct ze_launch_key key = key_of(stack);
	key.cell = cell;
	ck_assert_uint_ne(times_add_launches(&times, &key, 3, count), 0);
}

static void counted(uint64_t stack, uint64_t number)
{
	struct ze_timed_launch launch = { .time = { .type = ZE_TIMED_LAUNCH,
						    .process = { .id = 5, .program = 1 },
						    .number = number,
						    .begin = counted_time },
					  .key = key_of(stack) };
	times_take(&times, &launch.time, sizeof launch);
}

static void ended(uint64_t number, uint64_t begin, uint64_t end)
{
	const struct ze_time time = { .type = ZE_KERNEL_TIME,
				      .process = { .id = 5, .program = 1 },
				      .number = number,
				      .begin = begin,
				      .end = end,
				      .device = ZE_DEVICE_KNOWN | 0x300 };
	times_take(&times, &time, sizeof time);
}

static void turn(uint64_t now, bool is_last)
{
	ck_assert_int_eq(times_emit(&times, now * MILLISECOND, is_last), 0);
	ck_assert_int_eq(record_batch_flush(&batch), 0);
}

TEST(the_newest_time_waits_for_the_launches_that_it_represents)
{
	begin(false);
	counted('a', 1);
	launched('a', 0, 1);
	launched('a', 8, 9); /* counted in memory, by a cell */
	ended(1, 100, 200);
	turn(1000, false);
	ck_assert_uint_eq(job_count, 0);
	launched('a', 8, 20);
	counted('a', 2);
	counted('b', 3);
	launched('b', 0, 1);
	ended(2, 300, 600);
	ended(3, 600, 700);
	turn(1100, false);
	ck_assert_uint_eq(job_count, 1);
	ck_assert_uint_eq(jobs[0].represents, 15); /* half of 30 */
	ck_assert_uint_eq(jobs[0].started, 100);
	ck_assert_uint_eq(jobs[0].header.time, 200);
	ck_assert_uint_eq(jobs[0].submitted, 50);
	ck_assert_uint_eq(jobs[0].kernel, 3);
	ck_assert_uint_eq(jobs[0].time_type, 77);
	launched('a', 8, 5);
	turn(1399, false);
	ck_assert_uint_eq(job_count, 1);
	turn(1400, false);
	ck_assert_uint_eq(job_count, 3);
	ck_assert_uint_eq(jobs[1].represents, 20);
	ck_assert_uint_eq(jobs[2].represents, 1);
	ck_assert_uint_eq(jobs[1].correlation, jobs[0].correlation);
	ck_assert_uint_ne(jobs[2].correlation, jobs[0].correlation);
	ck_assert_uint_eq(device_count, 1);
	/* Later launches wait for the next time. */
	launched('a', 8, 7);
	counted('a', 4);
	launched('a', 0, 1);
	ended(4, 800, 900);
	turn(1500, true);
	ck_assert_uint_eq(jobs[3].represents, 8);
	ck_assert_uint_eq(times.represented, times.launched);
	end();
	ck_assert_uint_eq(warnings, 0);
}

TEST(a_time_waits_for_its_launch_in_the_other_set_of_maps)
{
	begin(true);
	counted('a', 1);
	ended(1, 100, 200);
	turn(1000, false);
	ck_assert_uint_eq(job_count, 0);
	launched('a', 0, 1);
	turn(1100, false);
	ck_assert_uint_eq(job_count, 1);
	ck_assert_uint_eq(jobs[0].represents, 0); /* all launches have a time */
	ended(7, 100, 200);                       /* of a launch that was not seen */
	counted('a', 8);
	ended(8, 0, 0); /* the device wrote none */
	launched('a', 0, 1);
	turn(1200, true);
	ck_assert_uint_eq(job_count, 1);
	ck_assert_uint_eq(times.dropped, 1);
	ck_assert_uint_eq(times.unread, 1);
	ck_assert_uint_eq(times.launches.count, 0);
	end();
	ck_assert_uint_eq(warnings, 1);
}

TEST(times_of_an_ended_process_are_emitted)
{
	begin(false);
	counted('a', 1);
	launched('a', 0, 4);
	ended(1, 100, 200);
	counted('a', 2); /* never ends */
	turn(1000, false);
	ck_assert_int_eq(times_forget_process(&times, &(struct ze_process){ .id = 5, .program = 1 }), 0);
	turn(1001, false);
	ck_assert_uint_eq(job_count, 1);
	ck_assert_uint_eq(jobs[0].represents, 4);
	ck_assert_uint_eq(times.sites.count + times.launches.count, 0);
	end();
}

TEST(tables_are_bounded)
{
	begin(false);
	for (uint64_t number = 1; number <= TIMED_LAUNCHES_MAX + 5; number++) {
		counted(number, number);
		struct ze_launch_key key = key_of(number);
		(void)times_add_launches(&times, &key, 3, 1);
	}
	ck_assert_uint_eq(times.launches.count, TIMED_LAUNCHES_MAX);
	ck_assert_uint_eq(times.sites.count, TIMED_SITES_MAX);
	ck_assert_uint_eq(times.dropped, 5);
	counted_time = 20000 * MILLISECOND; /* of those before, no end was reported */
	counted(1, TIMED_LAUNCHES_MAX + 6);
	ck_assert_uint_eq(times.launches.count, 1);
	ck_assert_uint_eq(times.dropped, 5 + TIMED_LAUNCHES_MAX);
	end();
	times.is_on = false;
	struct ze_launch_key key = key_of(1);
	ck_assert_uint_eq(times_add_launches(&times, &key, 3, 1), 0);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
