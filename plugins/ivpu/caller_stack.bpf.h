/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The stack of a program that calls a function, taken at the function's first instruction, without the function itself.
 * There the caller has no frame pointer below it yet, so that a walk along frame pointers leaves the caller out: where
 * the function returns to is the first address. From Linux 6.12 on the kernel itself puts it there, for functions that
 * begin by saving the frame pointer.
 */
#ifndef IAPROF_IVPU_CALLER_STACK_BPF_H
#define IAPROF_IVPU_CALLER_STACK_BPF_H

#define CALLER_STACK (BPF_F_USER_STACK | 1) /* one leaf less */

static __always_inline __u64 caller_stack_read(void *context, struct stack_addresses *stack, __u64 caller)
{
	__u32 room = stack_depth * sizeof(__u64);
	long size = bpf_get_stack(context, stack->addresses, room, CALLER_STACK);

	if (size < 0)
		size = 0;
	if (caller && (!size || stack->addresses[0] != caller)) {
		stack->addresses[0] = caller;
		size = bpf_get_stack(context, &stack->addresses[1], room - sizeof(__u64), CALLER_STACK);
		size = (size < 0 ? 0 : size) + sizeof(__u64);
	}
	stack->depth = (__u64)size / sizeof(__u64);
	return stack->depth ? stack_hash(stack) : 0;
}

/* The hash of the stack, which is in the map then; 0: none. */
static __always_inline __u64 caller_stack_take(void *context, const struct place *place, __u64 caller)
{
	int slot = slot_take(&place->processor->slots);
	__u32 element = place->cpu * SCRATCH_SLOTS + slot;
	__u64 hash = 0;

	if (slot >= 0) {
		struct stack_addresses *stack = bpf_map_lookup_elem(&stack_scratch, &element);
		if (stack)
			hash = caller_stack_read(context, stack, caller);
		if (hash && !stack_store(&stacks, stack, hash))
			hash = 0;
		slot_give_back(&place->processor->slots, slot);
	}
	if (!hash)
		__sync_fetch_and_add(&place->processor->stacks_lost, 1);
	return hash;
}

#endif
