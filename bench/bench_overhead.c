/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a system-wide run at 99 Hz costs, against perf record -F 99 -a -g over the same load, one after the other by
 * turns: the CPU time of the profiler's own process in a steady stretch of the run, and of its whole life.
 *
 * What interrupts the load is in neither process's CPU time. iaprof reports it for itself (time in its BPF program);
 * for both it is measured from outside, as what the load loses in speed when it is sampled as often as can be.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "load.h"
#include "ratio.h"

#define ROUNDS 3
#define SETTLE_SECONDS 1.5
#define STEADY_SECONDS 10
#define HIGH_FREQUENCY "4999"
#define SPEED_SECONDS 1.0
#define SPEED_ROUNDS 5

struct cost {
	struct rounds steady, whole;             /* seconds of CPU time a second of the run */
	double seconds[ROUNDS * STEADY_SECONDS]; /* the same for each second of all steady stretches */
	unsigned second_count;
	double kernel_side; /* as iaprof reports, in percent of one CPU; the smallest */
	uint64_t samples;
};

/* Parses "N samples in T s; iaprof used A % of one CPU while profiling (B % in the Linux kernel) and ...". */
static void read_summary(const char *path, struct cost *cost)
{
	FILE *file = fopen(path, "re");
	char line[1024];
	while (file && fgets(line, sizeof line, file)) {
		uint64_t samples;
		double own, kernel_side;
		if (sscanf(line,
			   "iaprof: %" SCNu64 " samples in %*f s; iaprof used %lf %% of one CPU while profiling (%lf",
			   &samples, &own, &kernel_side) != 3)
			continue;
		cost->samples = samples;
		if (!cost->steady.count || kernel_side < cost->kernel_side)
			cost->kernel_side = kernel_side;
	}
	if (file)
		fclose(file);
}

static void run_once(char *const *arguments, const char *messages, struct cost *cost)
{
	pid_t pid = child_spawn(arguments, messages);
	sleep_seconds(SETTLE_SECONDS);
	uint64_t begin = clock_monotonic();
	double before = child_cpu_seconds(pid), used = before;
	for (int i = 0; i < STEADY_SECONDS; i++) {
		sleep_seconds(1);
		double now = child_cpu_seconds(pid);
		cost->seconds[cost->second_count++] = now - used;
		used = now;
	}
	double steady = used - before;
	double elapsed = (double)(clock_monotonic() - begin) / (double)NANOSECONDS_PER_SECOND;
	struct child_usage usage = child_end(pid, SIGINT);
	read_summary(messages, cost);
	rounds_add(&cost->steady, steady / elapsed);
	rounds_add(&cost->whole, usage.cpu_seconds / (elapsed + SETTLE_SECONDS));
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

/* What most seconds of a run cost: names that are looked up once in a run are not in it. */
static double median_second(struct cost *cost)
{
	qsort(cost->seconds, cost->second_count, sizeof *cost->seconds, compare);
	return cost->seconds[cost->second_count / 2];
}

static void print_cost(const char *who, struct cost *cost)
{
	printf("%s\n", who);
	printf("  the median second     %7.4f %% of one CPU\n", 100 * median_second(cost));
	printf("  while sampling        %7.4f %% of one CPU (%u rounds, up to %.4f %%)\n", 100 * cost->steady.fastest,
	       cost->steady.count, 100 * cost->steady.slowest);
	printf("  whole life of process %7.4f %% of one CPU (%u rounds, up to %.4f %%)\n", 100 * cost->whole.fastest,
	       cost->whole.count, 100 * cost->whole.slowest);
}

/* Work done in each second of the thread's CPU time, by a thread that is interrupted like every other program. */
static double speed(void)
{
	uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID), value = 1, count = 0;
	double seconds;
	do {
		for (unsigned i = 0; i < 100; i++)
			value = load_work(value);
		count++;
		seconds = cpu_seconds_since(begin);
	} while (seconds < SPEED_SECONDS);
	__asm__ volatile("" ::"r"(value));
	return (double)count / seconds;
}

static double sampled_speed(char *const *arguments)
{
	pid_t pid = child_spawn(arguments, NULL);
	sleep_seconds(SETTLE_SECONDS);
	double result = speed();
	child_end(pid, SIGINT);
	return result;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* Seconds that one sample takes away from what it interrupts, from how much slower the load is than alone. */
static double sample_seconds(double alone, double sampled)
{
	return sampled < alone ? (1 - sampled / alone) / strtod(HIGH_FREQUENCY, NULL) : 0;
}

static void compare_interruptions(const char *iaprof, const char *data, const char *profile, double iaprof_steady,
				  double perf_steady)
{
	char *ours[] = { (char *)iaprof, (char *)"-q",    (char *)"-s", (char *)"cpu-stack:frequency=" HIGH_FREQUENCY,
			 (char *)"-o",   (char *)profile, NULL };
	char *theirs[] = { (char *)"perf", (char *)"record", (char *)"-q", (char *)"-F", (char *)HIGH_FREQUENCY,
			   (char *)"-a",   (char *)"-g",     (char *)"-o", (char *)data, NULL };
	double alone = 0, with_iaprof = 0, with_perf = 0;
	for (int i = 0; i < SPEED_ROUNDS; i++) {
		alone = larger(alone, speed());
		with_iaprof = larger(with_iaprof, sampled_speed(ours));
		with_perf = larger(with_perf, sampled_speed(theirs));
	}
	double iaprof_sample = sample_seconds(alone, with_iaprof), perf_sample = sample_seconds(alone, with_perf);
	double rate = 99.0 * (double)sysconf(_SC_NPROCESSORS_ONLN);
	double iaprof_all = iaprof_steady + rate * iaprof_sample, perf_all = perf_steady + rate * perf_sample;
	printf("what the load loses for each sample, interrupt included (at " HIGH_FREQUENCY " Hz, best of %d): iaprof "
	       "%.1f us, perf %.1f us\n",
	       SPEED_ROUNDS, 1e6 * iaprof_sample, 1e6 * perf_sample);
	printf("that and the process while sampling, %.0f samples/s: iaprof %.3f %% of one CPU, perf %.3f %%: ratio "
	       "%.2f\n",
	       rate, 100 * iaprof_all, 100 * perf_all, iaprof_all / perf_all);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: bench_overhead IAPROF\n");
		return 2;
	}
	if (geteuid() != 0) {
		puts("skipped: profiling all of a machine needs root");
		return EXIT_SUCCESS;
	}
	char *folder = child_make_folder();
	char data[4096], profile[4096], messages[4096];
	snprintf(data, sizeof data, "%s/perf.data", folder);
	snprintf(profile, sizeof profile, "%s/profile.folded", folder);
	snprintf(messages, sizeof messages, "%s/messages", folder);
	char *ours[] = { argv[1], (char *)"-o", profile, NULL };
	char *theirs[] = { (char *)"perf", (char *)"record", (char *)"-q", (char *)"-F", (char *)"99",
			   (char *)"-a",   (char *)"-g",     (char *)"-o", data,         NULL };
	bool has_perf = child_exists("perf");
	struct cost iaprof = { 0 }, perf = { 0 };
	struct load load = load_start();
	for (int i = 0; i < ROUNDS; i++) {
		run_once(ours, messages, &iaprof);
		if (has_perf)
			run_once(theirs, messages, &perf);
	}
	load_end(&load);

	printf("%d busy processes, calls %d deep, 99 Hz, all CPUs, %d s steady of %.1f s\n", LOAD_PROCESSES, LOAD_DEPTH,
	       STEADY_SECONDS, STEADY_SECONDS + SETTLE_SECONDS);
	print_cost("iaprof", &iaprof);
	printf("  its sampling program  %7.4f %% of one CPU, in what it interrupts (iaprof's own count of %" PRIu64
	       " samples)\n",
	       iaprof.kernel_side, iaprof.samples);
	if (has_perf) {
		print_cost("perf record -F 99 -a -g (what it does in interrupts is not counted here)", &perf);
		printf("iaprof to perf, whole life: %.2f (goal: at most 0.5; iaprof's has the names of all stacks in "
		       "it, "
		       "perf's has not)\n",
		       iaprof.whole.fastest / perf.whole.fastest);
		printf("iaprof to perf, while sampling: %.2f (perf leaves its samples in the ring buffers for "
		       "minutes)\n",
		       iaprof.steady.fastest / perf.steady.fastest);
	} else {
		puts("perf is not installed: no comparison");
	}
	double median = 100 * median_second(&iaprof);
	printf("goal: at most 0.1 %% of one CPU: the median second %.4f %%, with the sampling program %.4f %%\n",
	       median, median + iaprof.kernel_side);
	if (has_perf)
		compare_interruptions(argv[1], data, profile, median_second(&iaprof), perf.steady.fastest);
	child_remove_folder(folder);
	return EXIT_SUCCESS;
}
