/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All loads of a code index in a balanced tree, by device and address: it tells in whose address spaces something may
 * have been at an address in an interval of time, without asking each. Its answers are a bound: a load that another one
 * hides may be among them.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_TREE_H
#define IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_TREE_H

#include <stdint.h>
#include "base/array.h"
#include "symbolizer/device/code_space.h"

struct code_tree_node {
	uint64_t device, start, loaded, serial; /* the order of the nodes; serial: code_interval's */
	uint64_t end;
	uint64_t over;               /* when it was there no more, at the latest; UINT64_MAX: not yet */
	uint64_t reach, first, last; /* of it and all below it: the greatest end, least loaded and greatest over */
	uint32_t space;              /* the owner's number */
	uint32_t children[2];        /* before and after it: position + 1, 0: none */
	uint32_t height;             /* levels from here down: of children two differ by one at most */
};

/* Initialise with {0}. */
struct code_tree {
	ARRAY(struct code_tree_node) nodes;
	uint32_t root; /* position + 1, 0: none */
};

/* The tree must have room: array_reserve(&tree->nodes, ...). */
void code_tree_add(struct code_tree *tree, uint64_t device, const struct code_interval *interval, uint64_t over,
		   uint32_t space);
/* An interval that was added was there no more from a time on. */
void code_tree_end(struct code_tree *tree, uint64_t device, const struct code_interval *interval, uint64_t time);
/* Calls found for each load that may have been at the address in [begin, end]: for one space as often as it has some.
 */
void code_tree_find(const struct code_tree *tree, uint64_t device, uint64_t address, uint64_t begin, uint64_t end,
		    void (*found)(void *context, uint32_t space), void *context);
/* Removes all; the room stays. */
void code_tree_clear(struct code_tree *tree);
void code_tree_free(struct code_tree *tree);

#endif
