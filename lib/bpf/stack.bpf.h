/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Records stacks in a BPF program and stores each distinct one once, by hash. Included by one program of an object.
 * User space sets stack_depth and hash_seed.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/errno.h>
#include <bpf/bpf_helpers.h>
#include "bpf/map.bpf.h"
#include "bpf/stack.h"

const volatile __u32 stack_depth = 127;    /* of stacks that the Linux kernel walks */
const volatile __u64 hash_seed[2] = { 0 }; /* prevents deliberate collisions */

/* User space sets max_entries. */
#define STACKS_MAP(name) BPF_MAP(name, HASH, __u64, struct stack_piece, 1)

/*
 * 2^64 divided by the golden ratio; the shift brings the well-mixed high bits down. Not for words that a program
 * chooses: a difference in the highest bit persists, whatever the seed is, and the next word can cancel it.
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

static __always_inline struct sip_state sip_begin(void)
{
	return (struct sip_state){ hash_seed[0] ^ 0x736f6d6570736575ull, hash_seed[1] ^ 0x646f72616e646f6dull,
				   hash_seed[0] ^ 0x6c7967656e657261ull, hash_seed[1] ^ 0x7465646279746573ull };
}

static __always_inline __u64 sip_end(struct sip_state *state)
{
	state->v2 ^= 0xff;
	sip_round(state);
	sip_round(state);
	sip_round(state);
	__u64 hash = state->v0 ^ state->v1 ^ state->v2 ^ state->v3;
	return hash ? hash : 1;
}

/* Adds STACK_HASH_STRIDE addresses. bpf_get_stack() fills the rest of the buffer with zeros. */
static __always_inline void stack_hash_add(struct sip_state *state, const struct stack_addresses *stack, __u32 index)
{
#pragma unroll
	for (__u32 next = 0; next < STACK_HASH_STRIDE; next++)
		sip_add(state, stack->addresses[index + next]);
}

static __always_inline __u64 stack_hash_end(struct sip_state *state, const struct stack_addresses *stack)
{
	sip_add(state, stack->depth); /* the stack itself may end in zeros */
	return sip_end(state);
}

/*
 * SipHash-1-3 of the addresses: programs choose the contents of their stacks, and stacks with the same hash are
 * considered equal, even across programs. Each iteration hashes several addresses: the verifier checks the program
 * iteration by iteration, which dominates its load time. stack_hash_by_loop() of unwind.bpf.h has one check for all.
 */
static __always_inline __u64 stack_hash(const struct stack_addresses *stack)
{
	struct sip_state state = sip_begin();

	for (__u32 index = 0; index < stack_depth && index < stack->depth; index += STACK_HASH_STRIDE)
		stack_hash_add(&state, stack, index);
	return stack_hash_end(&state, stack);
}

/*
 * Records the stack that kind selects (0: the Linux kernel's, or BPF_F_USER_STACK, plus the number of leaf frames to
 * skip) in a buffer. Returns false without a stack. *truncated: it has the maximum depth.
 */
static __always_inline bool stack_read(void *context, struct stack_addresses *stack, __u64 kind, bool *truncated)
{
	long size = bpf_get_stack(context, stack->addresses, stack_depth * sizeof(__u64), kind);
	if (size <= 0)
		return false;
	stack->depth = (__u64)size / sizeof(__u64);
	/* The stack may also have exactly that depth: bpf_get_stack() does not distinguish them. */
	*truncated = stack->depth + (kind & BPF_F_SKIP_FIELD_MASK) >= stack_depth;
	return true;
}

/*
 * Stores a stack, which is in a buffer of STACK_ROOM bytes, in the map unless it is there already. Returns true if it
 * is in the map afterwards. The first piece is stored last, so that it is only found with the others. The word ahead of
 * the addresses of another piece is the last address of the piece before it.
 */
static __always_inline bool stack_store(void *stacks, const struct stack_addresses *stack, __u64 hash)
{
#pragma unroll
	for (int piece = STACK_PIECES - 1; piece >= 0; piece--) {
		__u64 key = hash + piece;
		if (stack->depth <= piece * STACK_PIECE_DEPTH || bpf_map_lookup_elem(stacks, &key))
			continue;
		long error = bpf_map_update_elem(stacks, &key, (const __u64 *)stack + piece * STACK_PIECE_DEPTH,
						 BPF_NOEXIST);
		if (error && error != -EEXIST)
			return false;
	}
	return true;
}
