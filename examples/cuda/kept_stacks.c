/* SPDX-License-Identifier: Apache-2.0 */
/* See kept_stacks.h. */
#include "kept_stacks.h"

#include <stdlib.h>
#include <string.h>

/* 4 MiB: several thousand stacks. */
#define ADDRESSES_MAX ((size_t)1 << 19)

void kept_stacks_free(struct kept_stacks *stacks)
{
	for (size_t i = 0; i < stacks->items.count; i++)
		free(stacks->items.items[i].addresses);
	keyed_array_free(&stacks->items);
}

uint32_t kept_stacks_add(struct kept_stacks *stacks, const uint64_t *addresses, size_t depth)
{
	size_t size = depth * sizeof *addresses;
	struct kept_stack stack = { .key = { .hash = hash_bytes(addresses, size), .depth = depth } };
	if (!depth)
		return 0;
	uint32_t position = keyed_array_find(&stacks->items, &stack.key);
	if (position != POSITION_NONE)
		return memcmp(stacks->items.items[position].addresses, addresses, size) ? 0 : position + 1;
	if (stacks->addresses + depth > ADDRESSES_MAX || !(stack.addresses = malloc(size)))
		return 0;
	memcpy(stack.addresses, addresses, size);
	position = keyed_array_add(&stacks->items, &stack);
	if (position == POSITION_NONE) {
		free(stack.addresses);
		return 0;
	}
	stacks->addresses += depth;
	return position + 1;
}

struct kept_stack kept_stacks_get(const struct kept_stacks *stacks, uint32_t number)
{
	return number && number <= stacks->items.count ? stacks->items.items[number - 1] : (struct kept_stack){ 0 };
}
