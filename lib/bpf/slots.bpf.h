/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Scratch buffers for BPF programs in task context, several per CPU, because such programs can be preempted by others
 * on the same CPU. A CPU's slots are a bit mask of the slots in use.
 */
#pragma once

#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include "bpf/slots.h"
#include "bpf/stack.h"

/*
 * Scratch buffers for stacks: SCRATCH_SLOTS elements per CPU, whose number user space sets.
 * Not a per-CPU map: that follows the current CPU, and a handler can migrate to a CPU whose slot it does not own.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, STACK_ROOM);
} scratch SEC(".maps");

/*
 * Returns a free scratch slot, or -1. Computed without a loop: the kernel's verifier checks the rest of the program
 * once for each value that it can distinguish.
 */
static __always_inline int slot_take(__u64 *slots)
{
#pragma unroll
	for (int i = 0; i < 3; i++) {
		__u64 unused = ~*(volatile __u64 *)slots & ((1ull << SCRATCH_SLOTS) - 1);
		__u64 lowest = unused & -unused;
		__u32 slot = (__u32)((lowest >> 1) - (lowest >> 3)) & (SCRATCH_SLOTS - 1); /* 1, 2, 4, 8: 0 to 3 */
		if (!lowest)
			return -1;
		if (!(__sync_fetch_and_or(slots, lowest) & lowest))
			return (int)slot;
	}
	return -1;
}
_Static_assert(SCRATCH_SLOTS == 4, "slot_take() calculates with four bits");

static __always_inline void slot_give_back(__u64 *slots, int slot)
{
	__sync_fetch_and_and(slots, ~(1ull << (slot & (SCRATCH_SLOTS - 1))));
}
