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
const volatile __u64 hash_seed[2] = { 0 }; /* so that nobody can make two stacks with the same hash */

/* User space sets max_entries and the size of values, which are struct stack_addresses. */
#define STACKS_MAP(name)                                                                                               \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_HASH);                                                                       \
		__uint(max_entries, 1);                                                                                \
		__uint(key_size, sizeof(__u64));                                                                       \
		__uint(value_size, sizeof(__u64));                                                                     \
	} name SEC(".maps")

/*
 * 2^64 divided by the golden ratio; the shift brings the well-mixed high bits down. Not for what a program chooses word
 * by word: a difference in the highest bit stays one, whatever the seed is, and the next word can take it back.
 */
static __always_inline __u64 hash_add(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

struct sip_state {
	__u64 v0, v1, v2, v3;
};

static __always_inline __u64 rotate_left(__u64 value, __u32 bits)
{
	return value << bits | value >> (64 - bits);
}

static __always_inline void sip_round(struct sip_state *state)
{
	state->v0 += state->v1;
	state->v1 = rotate_left(state->v1, 13) ^ state->v0;
	state->v0 = rotate_left(state->v0, 32);
	state->v2 += state->v3;
	state->v3 = rotate_left(state->v3, 16) ^ state->v2;
	state->v0 += state->v3;
	state->v3 = rotate_left(state->v3, 21) ^ state->v0;
	state->v2 += state->v1;
	state->v1 = rotate_left(state->v1, 17) ^ state->v2;
	state->v2 = rotate_left(state->v2, 32);
}

static __always_inline void sip_add(struct sip_state *state, __u64 word)
{
	state->v3 ^= word;
	sip_round(state);
	state->v0 ^= word;
}

/*
 * SipHash-1-3 of the addresses: programs choose what their stacks hold, and two stacks with one hash are taken to be
 * the same, also of two programs. Several addresses in each turn: the kernel checks the program turn by turn when it is
 * loaded, which is most of what loading costs. What bpf_get_stack() leaves free it fills with zeros.
 */
static __always_inline __u64 stack_hash(const struct stack_addresses *stack)
{
	struct sip_state state = { hash_seed[0] ^ 0x736f6d6570736575ull, hash_seed[1] ^ 0x646f72616e646f6dull,
				   hash_seed[0] ^ 0x6c7967656e657261ull, hash_seed[1] ^ 0x7465646279746573ull };

	for (__u32 index = 0; index < stack_depth && index < stack->depth; index += STACK_HASH_STRIDE) {
#pragma unroll
		for (__u32 next = 0; next < STACK_HASH_STRIDE; next++)
			sip_add(&state, stack->addresses[index + next]);
	}
	sip_add(&state, stack->depth); /* a stack may end in zeros of its own */
	state.v2 ^= 0xff;
	sip_round(&state);
	sip_round(&state);
	sip_round(&state);
	__u64 hash = state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
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
