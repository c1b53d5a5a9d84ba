/* SPDX-License-Identifier: Apache-2.0 */
/* See mapping_ranges.h. */
#include "bpf/mapping_ranges.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Returns the order of the smallest range that holds count mappings. */
static uint32_t order_of(uint32_t count)
{
	uint32_t order = 0;
	while ((uint64_t)1 << order < count)
		order++;
	return order;
}

int mapping_ranges_init(struct mapping_ranges *ranges, uint32_t count)
{
	*ranges = (struct mapping_ranges){ 0 };
	while (count >> 1 >> ranges->order)
		ranges->order++;
	ranges->largest = malloc((size_t)2 << ranges->order);
	if (!ranges->largest)
		return -ENOMEM;
	for (uint32_t depth = 0; depth <= ranges->order; depth++)
		memset(ranges->largest + ((size_t)1 << depth), (int)(ranges->order - depth + 1), (size_t)1 << depth);
	return 0;
}

void mapping_ranges_free(struct mapping_ranges *ranges)
{
	free(ranges->largest);
	array_free(&ranges->returned);
	*ranges = (struct mapping_ranges){ 0 };
}

/* Sets a node, and updates those above it. Two free halves form a free range. */
static void set_node(struct mapping_ranges *ranges, size_t node, uint32_t order, uint8_t value)
{
	uint8_t *largest = ranges->largest;
	largest[node] = value;
	for (node /= 2, order++; node; node /= 2, order++) {
		uint8_t left = largest[2 * node], right = largest[2 * node + 1];
		largest[node] = left == order && right == order ? (uint8_t)(order + 1) : left > right ? left : right;
	}
}

static uint32_t take_free(struct mapping_ranges *ranges, uint32_t order)
{
	const uint8_t *largest = ranges->largest;
	size_t node = 1;
	if (order > ranges->order || largest[node] <= order)
		return UINT32_MAX;
	for (uint32_t level = ranges->order; level > order; level--) {
		uint8_t left = largest[2 * node], right = largest[2 * node + 1];
		/* If both halves have enough room, prefers the one with less. */
		bool to_right = left <= order || (right > order && right < left);
		node = 2 * node + to_right;
	}
	set_node(ranges, node, order, 0);
	return (uint32_t)(node << order) - ((uint32_t)1 << ranges->order);
}

static void make_free(struct mapping_ranges *ranges, const struct mapping_range *range)
{
	size_t node = ((size_t)range->first + ((size_t)1 << ranges->order)) >> range->order;
	set_node(ranges, node, range->order, (uint8_t)(range->order + 1));
}

uint32_t mapping_ranges_take(struct mapping_ranges *ranges, uint32_t count)
{
	uint32_t order = order_of(count), first;
	while ((first = take_free(ranges, order)) == UINT32_MAX && ranges->returned_begin < ranges->returned.count)
		make_free(ranges, &ranges->returned.items[ranges->returned_begin++]);
	return first;
}

void mapping_ranges_give_back(struct mapping_ranges *ranges, uint32_t first, uint32_t count)
{
	const struct mapping_range range = { .first = first, .order = order_of(count) };
	size_t begin = ranges->returned_begin, left = ranges->returned.count - begin;
	if (begin > left) {
		memmove(ranges->returned.items, ranges->returned.items + begin, left * sizeof range);
		ranges->returned.count = left;
		ranges->returned_begin = 0;
	}
	/* Out of memory: the range may be reused at once. */
	if (!array_push(&ranges->returned, range))
		make_free(ranges, &range);
}
