/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The BPF side of targets.h. Included by one program of an object. */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "bpf/map.bpf.h"
#include "bpf/targets.h"

const volatile bool only_targets = false;
const volatile bool follow_children = false;
/* The cgroup whose processes are the targets, and those of its descendants; 0: none. */
const volatile __u64 target_cgroup = 0;           /* kernfs_node.id, which is the folder's inode number */
const volatile __u32 target_cgroup_hierarchy = 0; /* 0: cgroup v2 */

/* Limit on the loop; a cgroup that is deeper is not a target. */
#define TARGET_CGROUP_DEPTH 128

/* One bit per process id; used only with only_targets. */
BPF_MAPPED_ARRAY(targets, __u64, 1);

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct kernfs_node___target {
	__u64 id;
};
struct cgroup_root___target {
	int hierarchy_id;
};
struct cgroup_subsys_state___target {
	struct cgroup___target *cgroup;
	struct cgroup_subsys_state___target *parent;
};
struct cgroup___target {
	struct cgroup_subsys_state___target self;
	struct kernfs_node___target *kn;
	struct cgroup_root___target *root;
};
struct css_set___target {
	struct cgroup___target *dfl_cgrp;
};
struct task_struct___target {
	int pid;
	int tgid;
	struct css_set___target *cgroups;
};
#pragma clang attribute pop

static __always_inline bool process_is_target(__u32 process)
{
	__u32 index = process / 64;
	__u64 *word = bpf_map_lookup_elem(&targets, &index);
	return word && (*(volatile __u64 *)word >> (process % 64) & 1);
}

static __always_inline void target_set(__u32 process, bool is_target)
{
	__u32 index = process / 64;
	__u64 *word = bpf_map_lookup_elem(&targets, &index), bit = 1ull << (process % 64);
	if (!word)
		return;
	if (is_target)
		__sync_fetch_and_or(word, bit);
	else if (*(volatile __u64 *)word & bit)
		__sync_fetch_and_and(word, ~bit);
}

/* Returns whether a cgroup is the target or a descendant of it. */
static __always_inline bool cgroup_is_target(struct cgroup___target *cgroup)
{
	for (int depth = 0; cgroup && depth < TARGET_CGROUP_DEPTH; depth++) {
		if (BPF_CORE_READ(cgroup, kn, id) == target_cgroup)
			return true;
		struct cgroup_subsys_state___target *parent = BPF_CORE_READ(cgroup, self.parent);
		cgroup = parent ? BPF_CORE_READ(parent, cgroup) : NULL;
	}
	return false;
}

/*
 * For sched_process_fork, which precedes the child's first instruction. A new process is a target if its parent is one
 * and children are followed; otherwise it is not, even if an earlier process with the same id was. clone3(2) can create
 * a process in another cgroup of v2 than its parent's.
 */
static __always_inline void targets_follow(const void *parent_task, const void *child_task)
{
	const struct task_struct___target *parent = parent_task, *child = child_task;
	__u32 from = BPF_CORE_READ(parent, tgid), process = BPF_CORE_READ(child, tgid);
	if (process == from) /* a thread */
		return;
	if (target_cgroup && !target_cgroup_hierarchy)
		target_set(process, cgroup_is_target(BPF_CORE_READ(child, cgroups, dfl_cgrp)));
	else
		target_set(process, follow_children && process_is_target(from));
}

/* Loaded for a target_cgroup. A process is moved with all its threads, or belongs where its first thread does. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(follow_cgroup, struct cgroup___target *to, const char *path, struct task_struct___target *task)
{
	if ((__u32)BPF_CORE_READ(to, root, hierarchy_id) != target_cgroup_hierarchy)
		return 0;
	__u32 thread = BPF_CORE_READ(task, pid), process = BPF_CORE_READ(task, tgid);
	if (thread == process)
		target_set(process, cgroup_is_target(to));
	return 0;
}
