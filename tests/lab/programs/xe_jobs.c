/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the double of an xe device busy with jobs, and tells for how long: xe_jobs NODE compute|copy TIME-US
 * DURATION-MS [ACTIVE-MS PAUSE-MS OFFSET-MS], where the last three are windows as in gpu_jobs.h. Prints "pid PID" at
 * the beginning and "jobs PID COUNT ASKED-NS BUSY-NS" at the end: what the jobs were asked to take, and what they took
 * by the device's own clock, which is more where a processor is emulated and its timers are late.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../level_zero/gpu_jobs.h"
#include "../../../lib/base/clock.h"

static uint64_t number(const char *text, uint64_t unit)
{
	return strtoull(text, NULL, 10) * unit;
}

/*
 * How long the device was busy for this client, in ns, from its usage statistics: cycles of the engine beside all its
 * cycles, which count from the machine's start as the clock does (Documentation/gpu/drm-usage-stats.rst). 0: not there.
 */
static uint64_t busy_time(int node, const char *engine)
{
	char path[64], line[128], name[64];
	uint64_t value, cycles = 0, all = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", node);
	FILE *file = fopen(path, "r");
	if (!file)
		return 0;
	uint64_t moment = clock_monotonic();
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "drm-cycles-%63[^:]: %" SCNu64, name, &value) == 2 && strcmp(name, engine) == 0)
			cycles = value;
		else if (sscanf(line, "drm-total-cycles-%63[^:]: %" SCNu64, name, &value) == 2 &&
			 strcmp(name, engine) == 0)
			all = value;
	fclose(file);
	return all ? (uint64_t)((double)cycles / (double)all * (double)moment) : 0;
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
	bool copies = strcmp(argv[2], "copy") == 0;
	int result = gpu_jobs_open(&jobs, argv[1], copies ? GPU_JOBS_COPY : GPU_JOBS_COMPUTE, number(argv[3], 1000),
				   &windows);
	if (result) {
		fprintf(stderr, "xe_jobs: %s: %s\n", argv[1], strerror(-result));
		return 1;
	}
	printf("pid %d\n", getpid());
	fflush(stdout);
	uint64_t end = clock_monotonic() + number(argv[4], 1000000);
	while (result == 0 && clock_monotonic() < end)
		result = gpu_jobs_submit(&jobs);
	if (result == 0)
		result = gpu_jobs_wait(&jobs);
	uint64_t busy = busy_time(jobs.node, copies ? "bcs" : "ccs");
	if (result == 0)
		result = gpu_jobs_close(&jobs);
	if (result)
		fprintf(stderr, "xe_jobs: a job: %s\n", strerror(-result));
	printf("jobs %d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", getpid(), jobs.count, jobs.count * jobs.time, busy);
	return result != 0;
}
