/* SPDX-License-Identifier: Apache-2.0 */
/* See target_set.h. */
#include "bpf/target_set.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "process/cgroup_processes.h"

/* Processes that fork while they are marked appear in the next pass, which normally finds none. */
#define PASSES_MAX 16

bool target_follows_children(const struct iaprof_target *target)
{
	return target->scope == IAPROF_SCOPE_COMMAND || target->scope == IAPROF_SCOPE_CGROUP ||
	       (target->scope == IAPROF_SCOPE_PIDS && target->flags & IAPROF_TARGET_CHILDREN);
}

uint32_t target_words(const struct iaprof_target *target)
{
	return target->scope == IAPROF_SCOPE_SYSTEM ? 1 : TARGET_WORDS;
}

static int target_list(const struct iaprof_target *target, struct process_list *processes)
{
	if (target->scope == IAPROF_SCOPE_CGROUP)
		return cgroup_processes_add(target->cgroup, processes);
	if (target->scope == IAPROF_SCOPE_COMMAND)
		return array_push(processes, target->command_pid) ? 0 : -ENOMEM;
	for (size_t i = 0; i < target->pid_count; i++)
		if (!array_push(processes, target->pids[i]))
			return -ENOMEM;
	return target->flags & IAPROF_TARGET_CHILDREN ? descendants_add(processes) : 0;
}

/* Marks the processes of the target. Returns how many were not marked before, or a negative errno. */
static int mark_all(const struct iaprof_target *target, uint64_t *words)
{
	struct process_list processes = { 0 };
	int added = 0, result = target_list(target, &processes);
	for (size_t i = 0; i < processes.count; i++) {
		uint32_t pid = processes.items[i];
		uint64_t bit = 1ull << pid % 64;
		if (pid / 64 < TARGET_WORDS)
			added += !(__atomic_fetch_or(&words[pid / 64], bit, __ATOMIC_RELAXED) & bit);
	}
	array_free(&processes);
	return result ? result : added;
}

int target_set_follow(const struct target_set *set, const struct iaprof_host *host)
{
	const struct iaprof_target *target = host->target(host);
	size_t size = TARGET_WORDS * sizeof(uint64_t);
	if (target->scope == IAPROF_SCOPE_SYSTEM)
		return 0;
	/* Attached first: a process that is forked later is marked by its parent's mark or its cgroup. */
	*set->fork_link = bpf_program__attach(set->follow_fork);
	if (!*set->fork_link)
		return host->fail(host, errno, "cannot attach to sched_process_fork: %s", strerror(errno));
	if (target->scope == IAPROF_SCOPE_CGROUP && !(*set->cgroup_link = bpf_program__attach(set->follow_cgroup)))
		return host->fail(host, errno, "cannot attach to cgroup_attach_task: %s", strerror(errno));
	uint64_t *words = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(set->targets), 0);
	if (words == MAP_FAILED)
		return host->fail(host, errno, "cannot map the targets of the BPF programs: %s", strerror(errno));
	int result = mark_all(target, words);
	for (int pass = 1; pass < PASSES_MAX && result > 0 && target_follows_children(target); pass++)
		result = mark_all(target, words);
	munmap(words, size);
	return result < 0 ? host->fail(host, result, "cannot list the processes to profile: %s", strerror(-result)) : 0;
}
