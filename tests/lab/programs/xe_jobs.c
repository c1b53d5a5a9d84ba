/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the double of an xe device busy with jobs, and tells for how long: xe_jobs NODE compute|copy TIME-US
 * DURATION-MS [ACTIVE-MS PAUSE-MS OFFSET-MS], where the last three are windows as in gpu_jobs.h. Prints "pid PID" at
 * the beginning and "jobs PID COUNT BUSY-NS" at the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../level_zero/gpu_jobs.h"

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static uint64_t number(const char *text, uint64_t unit)
{
	return strtoull(text, NULL, 10) * unit;
}

int main(int argc, char **argv)
{
	struct gpu_windows windows = { 0 };
	struct gpu_jobs jobs;

	if (argc != 5 && argc != 8) {
		fprintf(stderr,
			"usage: xe_jobs NODE compute|copy TIME-US DURATION-MS [ACTIVE-MS PAUSE-MS OFFSET-MS]\n");
		return 2;
	}
	if (argc == 8) {
		windows.active = number(argv[5], 1000000);
		windows.pause = number(argv[6], 1000000);
		windows.offset = number(argv[7], 1000000);
	}
	int result = gpu_jobs_open(&jobs, argv[1], strcmp(argv[2], "copy") == 0 ? GPU_JOBS_COPY : GPU_JOBS_COMPUTE,
				   number(argv[3], 1000), &windows);
	if (result) {
		fprintf(stderr, "xe_jobs: %s: %s\n", argv[1], strerror(-result));
		return 1;
	}
	printf("pid %d\n", getpid());
	fflush(stdout);
	uint64_t end = now() + number(argv[4], 1000000);
	while (result == 0 && now() < end)
		result = gpu_jobs_submit(&jobs);
	uint64_t count = jobs.count;
	if (result == 0)
		result = gpu_jobs_close(&jobs);
	if (result)
		fprintf(stderr, "xe_jobs: a job: %s\n", strerror(-result));
	printf("jobs %d %" PRIu64 " %" PRIu64 "\n", getpid(), count, count * jobs.time);
	return result != 0;
}
