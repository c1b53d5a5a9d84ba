/* SPDX-License-Identifier: Apache-2.0 */
/* See bpf_cost.h. */
#include "run/bpf_cost.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* Returns whether the descriptor is that of a program, and its id and time until now. */
static bool program_read(int descriptor, struct bpf_cost_program *program)
{
	struct bpf_prog_info info = { 0 };
	union bpf_attr attribute = {
		.info = { .bpf_fd = (uint32_t)descriptor, .info_len = sizeof info, .info = (uintptr_t)&info }
	};
	if (syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attribute, sizeof attribute))
		return false;
	*program = (struct bpf_cost_program){ .descriptor = descriptor, .id = info.id, .time = info.run_time_ns };
	return true;
}

/* Finds the programs that this process has open. Out of memory: those that are left out are not measured. */
static void find_programs(struct bpf_cost *cost)
{
	char target[32];
	struct bpf_cost_program program;
	CLEANUP_CLOSEDIR DIR *folder = opendir("/proc/self/fd");
	for (const struct dirent *entry; folder && (entry = readdir(folder));) {
		ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
		target[length > 0 ? length : 0] = '\0';
		if (!strcmp(target, "anon_inode:bpf-prog") && program_read(atoi(entry->d_name), &program))
			(void)!array_push(&cost->programs, program);
	}
}

/* Returns the time of the programs since the beginning. A program that was closed or opened meanwhile is left out. */
static uint64_t programs_time(const struct bpf_cost *cost)
{
	uint64_t sum = 0;
	struct bpf_cost_program now;
	for (size_t i = 0; i < cost->programs.count; i++) {
		const struct bpf_cost_program *before = &cost->programs.items[i];
		if (program_read(before->descriptor, &now) && now.id == before->id)
			sum += now.time - before->time;
	}
	return sum;
}

int bpf_cost_begin(struct bpf_cost *cost)
{
	union bpf_attr attribute = { .enable_stats.type = BPF_STATS_RUN_TIME };
	if (cost->descriptor)
		return 0;
	long descriptor = syscall(SYS_bpf, BPF_ENABLE_STATS, &attribute, sizeof attribute);
	if (descriptor <= 0)
		return descriptor ? -errno : -EBADF;
	fcntl((int)descriptor, F_SETFD, FD_CLOEXEC);
	cost->descriptor = (int)descriptor;
	find_programs(cost);
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
