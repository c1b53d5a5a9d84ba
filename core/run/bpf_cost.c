/* SPDX-License-Identifier: Apache-2.0 */
/* See bpf_cost.h. */
#include "run/bpf_cost.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* Reads id and time until now of a program from fdinfo. Returns whether the descriptor is one of a program. */
static bool program_read(struct bpf_cost_program *program)
{
	char path[64], line[128];
	int found = 0;
	snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", program->pid, program->descriptor);
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof line, file))
		found += sscanf(line, "prog_id: %" SCNu32, &program->id) == 1 ||
			 sscanf(line, "run_time_ns: %" SCNu64, &program->time) == 1;
	return found == 2;
}

void bpf_cost_add(struct bpf_cost *cost, pid_t pid)
{
	char target[32], path[64];
	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	CLEANUP_CLOSEDIR DIR *folder = opendir(path);
	for (const struct dirent *entry; folder && (entry = readdir(folder));) {
		struct bpf_cost_program program = { .pid = pid, .descriptor = atoi(entry->d_name) };
		ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
		target[length > 0 ? length : 0] = '\0';
		if (!strcmp(target, "anon_inode:bpf-prog") && program_read(&program))
			(void)!array_push(&cost->programs, program);
	}
}

/* Returns the time of the programs since the beginning. A program that was closed or opened meanwhile is left out. */
static uint64_t programs_time(const struct bpf_cost *cost)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < cost->programs.count; i++) {
		const struct bpf_cost_program *before = &cost->programs.items[i];
		struct bpf_cost_program now = *before;
		if (program_read(&now) && now.id == before->id)
			sum += now.time - before->time;
	}
	return sum;
}

int bpf_cost_begin(struct bpf_cost *cost)
{
	union bpf_attr attribute = { .enable_stats.type = BPF_STATS_RUN_TIME };
	long descriptor = syscall(SYS_bpf, BPF_ENABLE_STATS, &attribute, sizeof attribute);
	if (descriptor <= 0)
		return descriptor ? -errno : -EBADF;
	fcntl((int)descriptor, F_SETFD, FD_CLOEXEC);
	cost->descriptor = (int)descriptor;
	bpf_cost_add(cost, getpid());
	cost->begin = clock_monotonic();
	return 0;
}

void bpf_cost_end(struct bpf_cost *cost, uint64_t least)
{
	uint64_t elapsed = clock_monotonic() - cost->begin;
	if (!cost->descriptor || elapsed < least)
		return;
	if (elapsed)
		cost->share = (double)programs_time(cost) / (double)elapsed;
	array_free(&cost->programs);
	close(cost->descriptor);
	cost->descriptor = 0;
}
