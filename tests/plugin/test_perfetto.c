/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sink perfetto: an hour of events takes no more memory than ten minutes of them, and a write that fails ends it. What
 * is in its traces is tried by tests/sink/test_perfetto.py.
 */
#include <check.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "test_host.h"
#include "../run_suite.h"

#define SECOND 1000000000ull
#define CALLS_PER_SECOND 100u
#define THREADS 50u
#define NAMES 40u

static struct test_host *host;

static void teardown(void)
{
	test_host_free(host);
}

static int send(const void *record, size_t size)
{
	return test_host_send(host, record, size, 1);
}

static void send_names(void)
{
	for (uint32_t id = 1; id <= NAMES; id++) {
		struct {
			struct iaprof_record_string string;
			char text[16];
		} record = { .string = { .header = { .size = sizeof record, .type = IAPROF_RECORD_STRING },
					 .id = id } };
		record.string.length = (uint32_t)snprintf(record.text, sizeof record.text, "function %u", id);
		ck_assert_int_eq(send(&record, sizeof record), 0);
	}
}

/* Calls in calls, the inner ones first, sums of others, samples of new processes, and stalls. */
static int send_second(uint64_t second)
{
	uint64_t begin = (second + 1) * SECOND;
	int result = 0;
	for (uint32_t i = 0; i < CALLS_PER_SECOND && !result; i++) {
		struct iaprof_record_call call = {
			.header = { .size = sizeof call,
				    .type = IAPROF_RECORD_CALL,
				    .source = 1,
				    .time = begin + i * 1000000 },
			.name = 1 + i % NAMES,
			.pid = 7,
			.tid = 100 + (i / 2 + (uint32_t)second) % THREADS,
			.depth = i % 2 ? 0 : 1,
			.parent = i % 2 ? 0 : 2 + i % (NAMES - 1),
			.duration = i % 2 ? 2500000 : 500000,
			.count = i % 10 ? 1 : 5,
		};
		call.header.time -= i % 2 ? 1500000 : 0; /* around the one before */
		call.first_time = call.header.time;
		result = send(&call, sizeof call);
	}
	struct iaprof_record_process process = {
		.header = { .size = sizeof process, .type = IAPROF_RECORD_PROCESS, .time = begin },
		.pid = 1000 + (uint32_t)second,
		.event = IAPROF_PROCESS_FORK,
		.name = 3
	};
	struct iaprof_record_sample sample = {
		.header = { .size = sizeof sample, .type = IAPROF_RECORD_SAMPLE, .time = begin },
		.pid = process.pid,
		.value_type = 1,
		.count = 1,
		.value = 10000000,
		.first_time = begin
	};
	struct {
		struct iaprof_record_stall_sample stalls;
		uint64_t counts[2];
	} stalls = { .stalls = { .header = { .size = sizeof stalls, .type = IAPROF_RECORD_STALL_SAMPLE, .time = begin },
				 .begin = begin - SECOND,
				 .device = 1,
				 .reason_count = 2 },
		     .counts = { 10, second } };
	struct iaprof_record_sync sync = {
		.header = { .size = sizeof sync, .type = IAPROF_RECORD_SYNC, .time = begin + SECOND }
	};
	result = result ? result : send(&process, sizeof process);
	result = result ? result : send(&sample, sizeof sample);
	result = result ? result : send(&stalls, sizeof stalls);
	process.event = IAPROF_PROCESS_EXIT;
	result = result ? result : send(&process, sizeof process);
	return result ? result : send(&sync, sizeof sync);
}

/* What the sink has, without the trace, which the test host keeps. */
static size_t memory_used(void)
{
	struct test_output *output = test_host_output(host, NULL);
	size_t used = (size_t)mallinfo2().uordblks + (size_t)mallinfo2().hblkhd;
	return used > output->size ? used - output->size : 0;
}

TEST(memory_does_not_grow_with_time)
{
	host = test_host_new("perfetto", NULL);
	test_host_start(host);
	send_names();
	size_t earlier = 0;
	for (uint64_t second = 0; second < 3600; second++) {
		ck_assert_int_eq(send_second(second), 0);
		if (second == 600)
			earlier = memory_used();
	}
	size_t later = memory_used();
	size_t trace = test_host_output(host, NULL)->size;
	ck_assert_msg(trace > (size_t)8 << 20, "a trace of %zu bytes has no hour of events", trace);
	ck_assert_msg(later < earlier + ((size_t)2 << 20), "%zu bytes after ten minutes, %zu after an hour", earlier,
		      later);
	test_host_stop(host);
}

TEST(a_failing_write_ends_it)
{
	host = test_host_new("perfetto", NULL);
	host->output_limit = 1 << 20;
	test_host_start(host);
	send_names();
	int result = 0;
	for (uint64_t second = 0; second < 3600 && !result; second++)
		result = send_second(second);
	ck_assert_int_lt(result, 0);
	ck_assert_str_ne(host->failure, "");
	ck_assert(!test_host_output(host, NULL)->closed);
}

int main(void)
{
	return run_all_tests(0, NULL, teardown);
}
