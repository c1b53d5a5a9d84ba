/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The BPF side of targets.h. Included by one program of an object. */
#ifndef IAPROF_BPF_TARGETS_BPF_H
#define IAPROF_BPF_TARGETS_BPF_H

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "targets.h"

const volatile bool only_targets = false;
const volatile bool follow_children = false;

/* One bit for each process id; of use only with only_targets. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} targets SEC(".maps");

static __always_inline bool process_is_target(__u32 process)
{
	__u32 index = process / 64;
	__u64 *word = bpf_map_lookup_elem(&targets, &index);
	return word && (*(volatile __u64 *)word >> (process % 64) & 1);
}

/*
 * For sched_process_fork, which comes before the child can run. A new process is a target when its parent is and
 * children are followed; otherwise it is none, even if its id was that of a target before.
 */
static __always_inline void targets_follow(__u32 parent, __u32 process)
{
	__u32 index = process / 64;
	__u64 *word = bpf_map_lookup_elem(&targets, &index);
	if (!word || process == parent) /* a thread */
		return;

	__u64 bit = 1ull << (process % 64);
	if (follow_children && process_is_target(parent))
		__sync_fetch_and_or(word, bit);
	else if (*(volatile __u64 *)word & bit)
		__sync_fetch_and_and(word, ~bit);
}

#endif
