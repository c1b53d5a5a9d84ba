/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates ranges of a map of mappings: a buddy allocator, which joins free ranges. A range that was given back is
 * reused only when nothing else is free, because BPF programs may still read it.
 */
#pragma once

#include <stdint.h>
#include "base/array.h"

struct mapping_range {
	uint32_t first;
	uint32_t order; /* log2 of its size */
};

/* Initialise with mapping_ranges_init(); mapping_ranges_free() accepts {0}. */
struct mapping_ranges {
	/*
	 * A binary tree over all positions: its root is node 1, the children of node n are 2 n and 2 n + 1. The value
	 * is 1 + log2 of the largest free range below the node, 0 without one.
	 */
	uint8_t *largest;
	uint32_t order; /* log2 of all positions */
	ARRAY(struct mapping_range) returned;
	size_t returned_begin; /* the range that was given back first */
};

/* Manages the positions below count, rounded down to a power of two. Returns 0 or -ENOMEM. */
int mapping_ranges_init(struct mapping_ranges *ranges, uint32_t count);
void mapping_ranges_free(struct mapping_ranges *ranges);

/* Returns the first position of a range for count > 0 mappings; UINT32_MAX if none is free. */
uint32_t mapping_ranges_take(struct mapping_ranges *ranges, uint32_t count);
/* Gives back a range. count: as for mapping_ranges_take(). */
void mapping_ranges_give_back(struct mapping_ranges *ranges, uint32_t first, uint32_t count);
