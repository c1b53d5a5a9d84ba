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

static uint64_t run_time(int descriptor)
{
	struct bpf_prog_info info = { 0 };
	union bpf_attr attribute = {
		.info = { .bpf_fd = (uint32_t)descriptor, .info_len = sizeof info, .info = (uintptr_t)&info }
	};
	return syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attribute, sizeof attribute) ? 0 : info.run_time_ns;
}

/* Returns the time of the programs that this process has open, while they were measured. */
static uint64_t programs_time(void)
{
	uint64_t sum = 0;
	char target[32];
	CLEANUP_CLOSEDIR DIR *folder = opendir("/proc/self/fd");
	for (const struct dirent *entry; folder && (entry = readdir(folder));) {
		ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
		target[length > 0 ? length : 0] = '\0';
		if (!strcmp(target, "anon_inode:bpf-prog"))
			sum += run_time(atoi(entry->d_name));
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
	cost->time = programs_time();
	cost->begin = clock_monotonic();
	return 0;
}

void bpf_cost_end(struct bpf_cost *cost, uint64_t least)
{
	uint64_t elapsed = clock_monotonic() - cost->begin;
	if (!cost->descriptor || elapsed < least)
		return;
	uint64_t time = programs_time();
	close(cost->descriptor);
	cost->descriptor = 0;
	if (elapsed)
		cost->share = (double)(time > cost->time ? time - cost->time : 0) / (double)elapsed;
}
