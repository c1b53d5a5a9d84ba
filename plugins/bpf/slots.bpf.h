/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Places for BPF programs of tasks to put something together in, some for each CPU: programs can be preempted by others
 * on the same CPU. A CPU's slots are bits, one for each place in use.
 */
#ifndef IAPROF_BPF_SLOTS_BPF_H
#define IAPROF_BPF_SLOTS_BPF_H

#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include "slots.h"

/*
 * Where stacks are put together before it is known whether the maps have them: SCRATCH_SLOTS elements for each CPU,
 * each a struct stack_addresses; user space sets the sizes. No per-CPU map: that gives what belongs to the CPU of the
 * moment, and a handler can move to another one, whose slot it does not have.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u64));
} stack_scratch SEC(".maps");

/*
 * The number of a scratch slot that nobody else uses, or -1. It is calculated, not counted through: for the kernel's
 * verifier each number that it can tell from others is another way through the rest of the program.
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

#endif
