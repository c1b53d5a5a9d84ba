/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Takes stacks in a BPF program and stores each different one once, by hash. Included by one program of an object.
 * User space sets stack_depth, hash_seed, and the size of the maps' values for that depth (stack_index.h).
 */
#ifndef IAPROF_BPF_STACK_BPF_H
#define IAPROF_BPF_STACK_BPF_H

#include <linux/bpf.h>
#include <linux/errno.h>
#include <bpf/bpf_helpers.h>
#include "stack.h"

const volatile __u32 stack_depth = 127;
const volatile __u64 hash_seed = 0; /* so that nobody can make two stacks with the same hash */

/* User space sets max_entries and the size of values, which are struct stack_addresses. */
#define STACKS_MAP(name)                                                                                               \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_HASH);                                                                       \
		__uint(max_entries, 1);                                                                                \
		__uint(key_size, sizeof(__u64));                                                                       \
		__uint(value_size, sizeof(__u64));                                                                     \
	} name SEC(".maps")

/* 2^64 divided by the golden ratio; the shift brings the well-mixed high bits down. */
static __always_inline __u64 hash_add(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

/*
 * Several addresses in each turn: the kernel checks the program turn by turn when it is loaded, which is most of what
 * loading costs. What bpf_get_stack() leaves free it fills with zeros.
 */
static __always_inline __u64 stack_hash(const struct stack_addresses *stack)
{
	__u64 hash = hash_seed ^ stack->depth; /* a stack may end in zeros of its own */

	for (__u32 index = 0; index < stack_depth && index < stack->depth; index += STACK_HASH_STRIDE) {
#pragma unroll
		for (__u32 next = 0; next < STACK_HASH_STRIDE; next++)
			hash = hash_add(hash, stack->addresses[index + next]);
	}
	return hash ? hash : 1;
}

/*
 * Takes the stack that kind says (0: the Linux kernel's, or BPF_F_USER_STACK, plus a number of leaf frames to leave
 * out) into a buffer. Returns its hash, 0 when there is none. *truncated: it was as deep as can be taken.
 */
static __always_inline __u64 stack_take(void *context, struct stack_addresses *stack, __u64 kind, bool *truncated)
{
	long size = bpf_get_stack(context, stack->addresses, stack_depth * sizeof(__u64), kind);
	if (size <= 0)
		return 0;
	stack->depth = (__u64)size / sizeof(__u64);
	/* Or just as deep: bpf_get_stack() does not tell. */
	*truncated = stack->depth + (kind & BPF_F_SKIP_FIELD_MASK) >= stack_depth;
	return stack_hash(stack);
}

/* Puts a stack into the map, unless it is there. Returns whether it is there now. */
static __always_inline bool stack_store(void *stacks, const struct stack_addresses *stack, __u64 hash)
{
	if (bpf_map_lookup_elem(stacks, &hash))
		return true;
	long error = bpf_map_update_elem(stacks, &hash, stack, BPF_NOEXIST);
	return !error || error == -EEXIST;
}

#endif
