/* SPDX-License-Identifier: Apache-2.0 */
/* See own_cost.h. */
#include "metrics/own_cost.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "process/process_stat.h"
#include "process/resident_memory.h"
#include "process/small_file.h"

/* Helpers start workers of their own. */
#define DEPTH_MAX 3

static void add_children(struct own_cost *cost, uint32_t pid, uint32_t command, int depth);

/* Adds the processes in a list of the form of /proc/PID/task/TID/children. */
static void add_processes(struct own_cost *cost, const char *list, uint32_t command, int depth)
{
	char *end;
	for (uint32_t child; (child = (uint32_t)strtoul(list, &end, 10)) && end != list; list = end) {
		if (child == command)
			continue;
		cost->helper_cpu += clock_of_process((pid_t)child) + process_ended_children_time(child);
		cost->helper_memory += resident_memory_of((pid_t)child);
		if (depth < DEPTH_MAX)
			add_children(cost, child, command, depth + 1);
	}
}

static void add_children(struct own_cost *cost, uint32_t pid, uint32_t command, int depth)
{
	char path[64 + NAME_MAX];
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/task", pid);
	DIR *threads = opendir(path);
	for (const struct dirent *entry; threads && (entry = readdir(threads));) {
		CLEANUP_FREE char *list = NULL;
		snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%s/children", pid, entry->d_name);
		if (entry->d_name[0] != '.' && small_file_read(path, &list))
			add_processes(cost, list, command, depth);
	}
	if (threads)
		closedir(threads);
}

static double start_time(uint32_t pid)
{
	CLEANUP_FREE char *text = NULL;
	const char *fields = process_stat_fields(pid, &text);
	uint64_t ticks;
	if (!fields ||
	    sscanf(fields, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
		   &ticks) != 1)
		return 0;
	double boot = (double)clock_read(CLOCK_REALTIME) - (double)clock_read(CLOCK_BOOTTIME);
	return boot / 1e9 + (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

void own_cost_update(struct own_cost *cost, uint32_t command)
{
	struct own_cost now = { .cpu = clock_read(CLOCK_PROCESS_CPUTIME_ID) };
	struct rusage ended;
	uint32_t pid = (uint32_t)getpid();
	now.memory = resident_memory_of((pid_t)pid);
	now.start_time = start_time(pid);
	add_children(&now, pid, command, 0);
	/* A command that has ended is among them. */
	if (!command && !getrusage(RUSAGE_CHILDREN, &ended))
		now.helper_cpu += (uint64_t)(ended.ru_utime.tv_sec + ended.ru_stime.tv_sec) * NANOSECONDS_PER_SECOND +
				  (uint64_t)(ended.ru_utime.tv_usec + ended.ru_stime.tv_usec) * 1000;
	/* The time of a helper that ends moves from one sum to another, and is read in between. */
	if (now.helper_cpu < cost->helper_cpu)
		now.helper_cpu = cost->helper_cpu;
	*cost = now;
}
