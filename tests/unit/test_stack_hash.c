/* SPDX-License-Identifier: Apache-2.0 */
/* The hash of stacks in BPF programs, compiled for this machine: nobody can make two stacks with one hash. */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "bpf/stack.bpf.h"
#include "../run_suite.h"

#define DEPTH 8u
#define TOP (UINT64_C(1) << 63)

static uint64_t hash_of(const uint64_t addresses[DEPTH], uint64_t depth)
{
	struct stack_addresses *stack = calloc(1, sizeof *stack + DEPTH * sizeof *addresses);
	ck_assert_ptr_nonnull(stack);
	stack->depth = depth;
	for (uint32_t i = 0; i < depth; i++)
		stack->addresses[i] = addresses[i];
	uint64_t hash = stack_hash(stack);
	free(stack);
	return hash;
}

/* A product keeps a difference in the highest bit, whatever it is multiplied by: the next word can take it back. */
TEST(differences_do_not_cancel)
{
	const uint64_t addresses[DEPTH] = { 0x401000, 0x402000, 0x403000 };
	const uint64_t others[DEPTH] = { 0x401000 ^ TOP, 0x402000 ^ TOP ^ TOP >> 32, 0x403000 };
	uint64_t hash = 0, other = 0;
	for (uint32_t i = 0; i < 3; i++) {
		hash = hash_add(hash, addresses[i]);
		other = hash_add(other, others[i]);
	}
	ck_assert_uint_eq(hash, other);
	ck_assert_uint_ne(hash_of(addresses, 3), hash_of(others, 3));
}

TEST(depth_and_zeros_count)
{
	const uint64_t addresses[DEPTH] = { 0x401000 };
	for (uint32_t depth = 1; depth < DEPTH; depth++)
		ck_assert_uint_ne(hash_of(addresses, depth), hash_of(addresses, depth + 1));
	ck_assert_uint_eq(hash_of(addresses, 2), hash_of(addresses, 2));
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
