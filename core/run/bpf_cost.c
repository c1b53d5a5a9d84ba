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

/* Calls back for each program that a process has open. */
static void programs_each(struct bpf_cost *cost, pid_t pid, uint16_t source,
			  void (*take)(struct bpf_cost *cost, struct bpf_cost_program *program))
{
	char target[32], path[64];
	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	CLEANUP_CLOSEDIR DIR *folder = opendir(path);
	for (const struct dirent *entry; folder && (entry = readdir(folder));) {
		struct bpf_cost_program program = { .pid = pid, .descriptor = atoi(entry->d_name), .source = source };
		ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
		target[length > 0 ? length : 0] = '\0';
		if (!strcmp(target, "anon_inode:bpf-prog") && program_read(&program))
			take(cost, &program);
	}
}

static const struct bpf_cost_owned *owned_find(const struct bpf_cost *cost, uint32_t id)
{
	for (size_t i = 0; i < cost->owned.count; i++)
		if (cost->owned.items[i].id == id)
			return &cost->owned.items[i];
	return NULL;
}

static void claim(struct bpf_cost *cost, struct bpf_cost_program *program)
{
	if (!owned_find(cost, program->id))
		(void)!array_push(&cost->owned, ((struct bpf_cost_owned){ program->id, program->source }));
}

void bpf_cost_claim(struct bpf_cost *cost, uint16_t source)
{
	programs_each(cost, getpid(), source, claim);
}

static void measure(struct bpf_cost *cost, struct bpf_cost_program *program)
{
	const struct bpf_cost_owned *owned = program->source ? NULL : owned_find(cost, program->id);
	if (owned)
		program->source = owned->source;
	(void)!array_push(&cost->programs, *program);
}

void bpf_cost_add(struct bpf_cost *cost, pid_t pid, uint16_t source)
{
	programs_each(cost, pid, source, measure);
}

int bpf_cost_begin(struct bpf_cost *cost)
{
	union bpf_attr attribute = { .enable_stats.type = BPF_STATS_RUN_TIME };
	long descriptor = syscall(SYS_bpf, BPF_ENABLE_STATS, &attribute, sizeof attribute);
	if (descriptor <= 0)
		return descriptor ? -errno : -EBADF;
	fcntl((int)descriptor, F_SETFD, FD_CLOEXEC);
	cost->descriptor = (int)descriptor;
	cost->programs.count = 0;
	bpf_cost_add(cost, getpid(), 0);
	cost->begin = clock_monotonic();
	return 0;
}

void bpf_cost_end(struct bpf_cost *cost, uint64_t least)
{
	uint64_t elapsed = clock_monotonic() - cost->begin;
	if (!cost->descriptor || elapsed < least)
		return;
	for (size_t i = 0; i < cost->programs.count; i++) {
		struct bpf_cost_program *program = &cost->programs.items[i], now = *program;
		/* One that was closed or opened meanwhile is left out. */
		if (program_read(&now) && now.id == program->id && elapsed)
			program->share = (double)(now.time - program->time) / (double)elapsed;
	}
	close(cost->descriptor);
	cost->descriptor = 0;
}

double bpf_cost_all(const struct bpf_cost *cost)
{
	double sum = 0;
	for (size_t i = 0; i < cost->programs.count; i++)
		sum += cost->programs.items[i].share;
	return sum;
}

double bpf_cost_of(const struct bpf_cost *cost, uint16_t source)
{
	double sum = 0;
	for (size_t i = 0; i < cost->programs.count; i++)
		sum += cost->programs.items[i].source == source ? cost->programs.items[i].share : 0;
	return sum;
}

void bpf_cost_free(struct bpf_cost *cost)
{
	bpf_cost_end(cost, 0);
	array_free(&cost->programs);
	array_free(&cost->owned);
}
