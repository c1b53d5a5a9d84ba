/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The time from which a run takes the place of an earlier one: see limit() in iaprof/plugin.h. Both are attached then.
 * Linux calls the handlers of a probe in the reverse order of attachment, each at a time of its own: of a launch at the
 * limit, the later run, which is called first, decides, and the earlier run does the opposite. For ze-usdt.bpf.c only.
 */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "bpf/map.bpf.h"
#include "ze-usdt.h"

/* Only launches between belong to the run, ns. User space changes them at any time. */
__u64 limit_begin = 0;
__u64 limit_end = ~0ull;

/* Shared by the runs of a process, by thread id: the limit, if the later run has left it the last launch; else 0. */
BPF_MAP(handover, LRU_HASH, __u32, __u64, ZE_HANDOVER_THREADS);

/* So long after the limit decisions are written, and half of it they are read: none is left of an earlier launch. */
#define HANDOVER_TIME 2000000000ull /* ns */

/* Returns whether what fired a probe belongs to this run. Called once for each, before anything else is decided. */
static __always_inline bool is_of_this_run(__u64 now, __u32 thread)
{
	__u64 begin = *(volatile __u64 *)&limit_begin, end = *(volatile __u64 *)&limit_end;
	if (now >= end) {
		__u64 *left = bpf_map_lookup_elem(&handover, &thread);
		return left && *left == end && now - end < HANDOVER_TIME / 2;
	}
	if (begin && begin != ~0ull && now < begin + HANDOVER_TIME) {
		__u64 left = now < begin ? begin : 0;
		bpf_map_update_elem(&handover, &thread, &left, BPF_ANY);
	}
	return now >= begin;
}
