/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Records the user stack at a function's first instruction, without the function itself. The function has not set up
 * its frame pointer yet, so a walk along frame pointers would miss the caller: the return address is used as the first
 * address. Since Linux 6.12, the kernel does the same for functions that start by saving the frame pointer.
 */
#pragma once

#define CALLER_STACK (BPF_F_USER_STACK | 1) /* one leaf less */

static __always_inline __u64 caller_stack_read(void *context, struct stack_addresses *stack, __u32 element,
					       __u64 caller)
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
	return stack->depth ? stack_hash_by_loop(element) : 0;
}

/* Returns the hash of the stack; 0 if frame pointers may show more of it. */
static __always_inline __u64 caller_stack_unwind(struct pt_regs *context, struct stack_addresses *stack, __u32 element,
						 __u64 caller, struct stack_counts *counts)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct unwind_registers registers = {};
	__u32 end;
	if (!caller || !unwind_registers_get(&registers, context, task))
		return 0;
	registers.pc = caller;
	registers.sp += sizeof caller;
	registers.is_behind_call = true;
	return stack_unwind(stack, element, task->tgid, task->self_exec_id, &registers, counts, &end);
}

/* Stores the stack in the map and returns its hash, or 0. */
static __always_inline __u64 caller_stack_take(struct pt_regs *context, const struct place *place, __u64 caller)
{
	int slot = slot_take(&place->processor->slots);
	__u32 element = place->cpu * SCRATCH_SLOTS + slot;
	__u64 hash = 0;

	if (slot >= 0) {
		struct stack_addresses *stack = bpf_map_lookup_elem(&scratch, &element);
		if (stack && use_tables)
			hash = caller_stack_unwind(context, stack, element, caller, &place->processor->stacks);
		if (stack && !hash)
			hash = caller_stack_read(context, stack, element, caller);
		if (hash && !stack_store(&stacks, stack, hash))
			hash = 0;
		slot_give_back(&place->processor->slots, slot);
	}
	if (!hash)
		__sync_fetch_and_add(&place->processor->stacks.lost, 1);
	return hash;
}
