/* SPDX-License-Identifier: Apache-2.0 */
/* See wait_stacks.h. */
#include "wait_stacks.h"

#include <stdlib.h>
#include <string.h>

/* Limit on stored addresses: 32 MiB. */
#define ADDRESSES_MAX (UINT64_C(4) << 20)

static void forget(struct wait_stacks *stacks, uint32_t position)
{
	stacks->addresses -= stacks->stacks.items[position].stack->depth;
	free(stacks->stacks.items[position].stack);
	keyed_array_remove(&stacks->stacks, position);
}

/* Forgets the older half. */
static void forget_old(struct wait_stacks *stacks)
{
	uint32_t oldest = stacks->turn;
	for (size_t i = 0; i < stacks->stacks.count; i++)
		if (stacks->stacks.items[i].turn < oldest)
			oldest = stacks->stacks.items[i].turn;
	uint32_t limit = oldest + (stacks->turn - oldest) / 2;
	/* Backwards: the last one takes the place of one that is removed. */
	for (size_t i = stacks->stacks.count; i-- > 0;)
		if (stacks->stacks.items[i].turn <= limit)
			forget(stacks, (uint32_t)i);
}

static bool store_stack(struct wait_stacks *stacks, uint64_t hash, const struct stack_addresses *stack)
{
	struct wait_stack *known = keyed_array_get(&stacks->stacks, &hash);
	if (known) {
		known->turn = stacks->turn;
		return true;
	}
	size_t size = sizeof *stack + stack->depth * sizeof *stack->addresses;
	struct wait_stack added = { .key = hash, .stack = malloc(size), .turn = stacks->turn };
	if (added.stack)
		memcpy(added.stack, stack, size);
	if (!added.stack || keyed_array_add(&stacks->stacks, &added) == POSITION_NONE) {
		free(added.stack);
		return false;
	}
	stacks->addresses += stack->depth;
	return true;
}

bool wait_stacks_add(struct wait_stacks *stacks, struct stack_index *index)
{
	stacks->turn++;
	if (stacks->addresses > ADDRESSES_MAX)
		forget_old(stacks);
	for (size_t i = 0; i < index->entries.count; i++) {
		/*
		 * Parts of a deep stack other than the first have no depth, so the index does not find them as stacks.
		 */
		uint64_t hash = index->entries.items[i].key;
		const struct stack_addresses *stack = stack_index_find(index, hash);
		if (stack && stack->depth && !store_stack(stacks, hash, stack))
			return false;
	}
	return true;
}

const struct stack_addresses *wait_stacks_find(const struct wait_stacks *stacks, uint64_t hash)
{
	const struct wait_stack *found = hash ? keyed_array_get(&stacks->stacks, &hash) : NULL;
	return found ? found->stack : NULL;
}

void wait_stacks_free(struct wait_stacks *stacks)
{
	for (size_t i = 0; i < stacks->stacks.count; i++)
		free(stacks->stacks.items[i].stack);
	keyed_array_free(&stacks->stacks);
}
