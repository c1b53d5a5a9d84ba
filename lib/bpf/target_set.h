/* SPDX-License-Identifier: Apache-2.0 */
/* The user side of targets.bpf.h: which processes BPF programs record. */
#pragma once

#include <stdbool.h>
#include <bpf/libbpf.h>
#include <iaprof/host.h>

#include "bpf/targets.h"

/* The parts of a skeleton whose object includes targets.bpf.h and has a program follow_fork. */
struct target_set {
	struct bpf_map *targets;
	struct bpf_program *follow_fork, *follow_cgroup;
	struct bpf_link **fork_link, **cgroup_link;
};
#define TARGET_SET(skeleton)                                                                                           \
	(&(const struct target_set){ (skeleton)->maps.targets, (skeleton)->progs.follow_fork,                          \
				     (skeleton)->progs.follow_cgroup, &(skeleton)->links.follow_fork,                  \
				     &(skeleton)->links.follow_cgroup })

/* Whether the processes of a target include later children, and the number of words of map targets. */
bool target_follows_children(const struct iaprof_target *target);
uint32_t target_words(const struct iaprof_target *target);

/* Before the skeleton is loaded: sets what the programs need to know of the target. */
#define TARGET_SET_CONFIGURE(skeleton, target)                                                                         \
	do {                                                                                                           \
		(skeleton)->rodata->only_targets = (target)->scope != IAPROF_SCOPE_SYSTEM;                             \
		(skeleton)->rodata->follow_children = target_follows_children(target);                                 \
		bool in_cgroup_ = (target)->scope == IAPROF_SCOPE_CGROUP;                                              \
		(skeleton)->rodata->target_cgroup = in_cgroup_ ? (target)->cgroup_id : 0;                              \
		(skeleton)->rodata->target_cgroup_hierarchy = in_cgroup_ ? (target)->cgroup_hierarchy : 0;             \
		bpf_program__set_autoload((skeleton)->progs.follow_fork, (skeleton)->rodata->only_targets);            \
		bpf_program__set_autoload((skeleton)->progs.follow_cgroup, in_cgroup_);                                \
	} while (0)

/*
 * After it is loaded, unless the target is the whole system: attaches the programs that follow processes, and marks the
 * processes that exist. Returns 0, or the result of host->fail().
 */
int target_set_follow(const struct target_set *set, const struct iaprof_host *host);
