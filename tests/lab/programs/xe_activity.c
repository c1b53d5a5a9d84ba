/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints who was busy on a device: xe_activity PCI-ADDRESS DURATION-MS PERIOD-MS. A line for each DEVICE_ACTIVITY
 * record, "activity BEGIN END PID BUSY KIND LABEL", one for each JOB record, "job SUBMITTED QUEUED STARTED END PID TID
 * STATE", one for each message, loss or error, and "processes N" after each
 * period; the first line is "ready". Used where the source that asks for it is not to be tested.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <iaprof/host.h>

#include "activity.h"

#define MILLISECOND UINT64_C(1000000)
#define SECOND (1000 * MILLISECOND)

static uint64_t host_clock(const struct iaprof_host *host)
{
	struct timespec time;

	(void)host;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static void line_print(const char *what, const char *format, va_list arguments) IAPROF_PRINTF(2, 0);
static void line_print(const char *what, const char *format, va_list arguments)
{
	printf("%s ", what);
	vprintf(format, arguments);
	putchar('\n');
}

static IAPROF_PRINTF(3, 4) void host_log(const struct iaprof_host *host, int level, const char *format, ...)
{
	va_list arguments;

	(void)host;
	if (level > IAPROF_LOG_WARNING && !getenv("XE_ACTIVITY_DEBUG"))
		return;
	va_start(arguments, format);
	line_print("message", format, arguments);
	va_end(arguments);
}

static IAPROF_PRINTF(3, 4) int host_fail(const struct iaprof_host *host, int error, const char *format, ...)
{
	va_list arguments;

	(void)host;
	va_start(arguments, format);
	line_print("error", format, arguments);
	va_end(arguments);
	return error > 0 ? -error : error;
}

static IAPROF_PRINTF(3, 4) void host_metadata(const struct iaprof_host *host, const char *key, const char *format, ...)
{
	va_list arguments;

	(void)host;
	(void)key;
	va_start(arguments, format);
	line_print("metadata", format, arguments);
	va_end(arguments);
}

static void host_lost(const struct iaprof_host *host, const char *reason, uint64_t begin, uint64_t count,
		      uint32_t value_type, uint64_t value)
{
	(void)host;
	(void)begin;
	(void)value_type;
	(void)value;
	printf("lost %" PRIu64 " %s\n", count, reason);
}

/* There are two texts, which differ in the first letter. */
static uint32_t host_intern_string(const struct iaprof_host *host, const char *text, size_t length)
{
	(void)host;
	return length > 1 ? (uint32_t)text[1] : 0;
}

static int host_emit(const struct iaprof_host *host, const struct iaprof_batch *batch)
{
	(void)host;
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));) {
		const struct iaprof_record_device_activity *activity = (const void *)record;
		const struct iaprof_record_job *job = (const void *)record;
		if (record->type == IAPROF_RECORD_JOB) {
			printf("job %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu32
			       "\n",
			       job->submitted, job->queued, job->started, record->time, job->pid, job->tid, job->state);
			continue;
		}
		printf("activity %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu64 " %" PRIu32 " %" PRIu32 "\n",
		       activity->begin, record->time, activity->pid, activity->busy, activity->kind, activity->label);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct iaprof_host host = { .size = sizeof host,
						 .clock = host_clock,
						 .log = host_log,
						 .fail = host_fail,
						 .metadata = host_metadata,
						 .lost = host_lost,
						 .emit = host_emit,
						 .intern_string = host_intern_string };
	if (argc != 4) {
		fprintf(stderr, "usage: xe_activity PCI-ADDRESS DURATION-MS PERIOD-MS\n");
		return 2;
	}
	struct activity *activity = activity_new(&host, true);
	if (!activity || activity_add_device(activity, argv[1], 1) != 0 || activity_start(activity) != 0)
		return 1;
	puts("ready");
	fflush(stdout);
	uint64_t begin = host_clock(&host), end = begin + strtoull(argv[2], NULL, 10) * MILLISECOND;
	uint64_t period = strtoull(argv[3], NULL, 10) * MILLISECOND;
	int result = 0;
	while (result >= 0 && begin < end) {
		struct timespec pause = { (time_t)(period / SECOND), (long)(period % SECOND) };
		nanosleep(&pause, NULL);
		uint64_t now = host_clock(&host);
		result = activity_emit(activity, begin, now);
		printf("processes %d\n", result);
		begin = now;
	}
	if (result >= 0)
		result = activity_stop(activity);
	activity_free(activity);
	return result < 0;
}
