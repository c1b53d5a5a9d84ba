/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks by number: the core's stack ids are valid only for seconds. Owned by the loop's thread. Initialise with {0}.
 */
#pragma once

#include <stdint.h>
#include <base/keyed_array.h>

struct kept_stack {
	struct {
		uint64_t hash, depth;
	} key;
	uint64_t *addresses; /* the leaf first */
};

struct kept_stacks {
	KEYED_ARRAY(struct kept_stack) items; /* by number - 1 */
	size_t addresses;                     /* in all */
};

void kept_stacks_free(struct kept_stacks *stacks);
/* Returns the number of a stack, whose addresses are copied; 0 without addresses, memory or room. */
uint32_t kept_stacks_add(struct kept_stacks *stacks, const uint64_t *addresses, size_t depth);
/* Returns the stack with a number, valid until the next call; without addresses for 0. */
struct kept_stack kept_stacks_get(const struct kept_stacks *stacks, uint32_t number);
