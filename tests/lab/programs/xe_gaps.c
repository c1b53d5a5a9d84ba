/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets the double of an xe device wait for the CPU: xe_gaps NODE ROUNDS JOB-MS COMPUTE-MS SLEEP-MS. Begins with a byte
 * on standard input, and exits at its end. In each round a job runs, for which the thread waits; then the thread
 * computes, and then it sleeps. Prints the time that each function took in all, "FUNCTION NS".
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../level_zero/gpu_jobs.h"
#include "../../../lib/base/clock.h"

#define MILLISECOND UINT64_C(1000000)

static int __attribute__((noinline)) wait_for_gpu(struct gpu_jobs *jobs)
{
	int result = gpu_jobs_wait(jobs);
	__asm__ volatile("");
	return result;
}

static void __attribute__((noinline)) prepare_batch(uint64_t time)
{
	for (uint64_t end = clock_monotonic() + time; clock_monotonic() < end;)
		__asm__ volatile("");
}

static void __attribute__((noinline)) read_input(uint64_t time)
{
	struct timespec pause = { .tv_nsec = (long)time };
	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	struct gpu_windows always = { 0 };
	struct gpu_jobs jobs;

	if (argc != 6) {
		fprintf(stderr, "usage: xe_gaps NODE ROUNDS JOB-MS COMPUTE-MS SLEEP-MS\n");
		return 2;
	}
	uint64_t times[3], spent[3] = { 0 };
	for (int i = 0; i < 3; i++)
		times[i] = strtoull(argv[3 + i], NULL, 10) * MILLISECOND;
	char byte;
	if (read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	int result = gpu_jobs_open(&jobs, argv[1], GPU_JOBS_COMPUTE, times[0], &always);
	for (uint64_t round = strtoull(argv[2], NULL, 10); round && !result; round--) {
		result = gpu_jobs_submit(&jobs);
		uint64_t begin = clock_monotonic();
		if (!result)
			result = wait_for_gpu(&jobs);
		uint64_t waited = clock_monotonic();
		prepare_batch(times[1]);
		uint64_t prepared = clock_monotonic();
		read_input(times[2]);
		spent[0] += waited - begin;
		spent[1] += prepared - waited;
		spent[2] += clock_monotonic() - prepared;
	}
	if (!result)
		result = gpu_jobs_close(&jobs);
	if (result) {
		fprintf(stderr, "xe_gaps: %s: %s\n", argv[1], strerror(-result));
		return 1;
	}
	printf("wait_for_gpu %" PRIu64 "\nprepare_batch %" PRIu64 "\nread_input %" PRIu64 "\n", spent[0], spent[1],
	       spent[2]);
	fflush(stdout);
	return read(STDIN_FILENO, &byte, 1) > 0;
}
