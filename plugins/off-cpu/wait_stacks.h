/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks by hash, of all sets of maps: a wait may end long after its stacks were taken. Those that were not used for
 * the longest time are forgotten when there are too many.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/keyed_array.h"
#include "bpf/stack_index.h"

struct wait_stack {
	uint64_t key; /* hash */
	struct stack_addresses *stack;
	uint32_t turn; /* in which it was last taken */
};

/* Initialise with {0}. */
struct wait_stacks {
	KEYED_ARRAY(struct wait_stack) stacks;
	uint64_t addresses; /* of all stacks */
	uint32_t turn;
};

/* Adds the stacks of a set of maps. Returns false if out of memory. */
bool wait_stacks_add(struct wait_stacks *stacks, struct stack_index *index);
/* Returns the stack with a hash, or NULL. */
const struct stack_addresses *wait_stacks_find(const struct wait_stacks *stacks, uint64_t hash);
void wait_stacks_free(struct wait_stacks *stacks);
