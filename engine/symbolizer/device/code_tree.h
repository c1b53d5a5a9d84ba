/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All loads of a code index in a balanced tree, by device and address: finds the address spaces that may have had code
 * at an address in an interval of time, without searching all of them. The result is an upper bound: it may include
 * loads that are hidden by others.
 */
#pragma once

#include <stdint.h>
#include "base/array.h"
#include "symbolizer/device/code_space.h"

struct code_tree_node {
	uint64_t device, start, loaded, serial; /* sort key; serial: of the code_interval */
	uint64_t end;
	uint64_t over;               /* upper bound of the time at which it ended; UINT64_MAX: not yet */
	uint64_t reach, first, last; /* over the subtree: greatest end, smallest loaded and greatest over */
	uint32_t space;              /* defined by the owner */
	uint32_t children[2];        /* smaller and greater: position + 1, 0: none */
	uint32_t height;             /* height of the subtree; those of children differ by at most one */
};

/* Initialise with {0}. */
struct code_tree {
	ARRAY(struct code_tree_node) nodes;
	uint32_t root; /* position + 1, 0: none */
};

/* The caller has reserved memory: array_reserve(&tree->nodes, ...). */
void code_tree_add(struct code_tree *tree, uint64_t device, const struct code_interval *interval, uint64_t over,
		   uint32_t space);
/* Sets the end of an interval that was added. */
void code_tree_end(struct code_tree *tree, uint64_t device, const struct code_interval *interval, uint64_t time);
/* Calls found for each load that may have been at the address in [begin, end], possibly several times for one space. */
void code_tree_find(const struct code_tree *tree, uint64_t device, uint64_t address, uint64_t begin, uint64_t end,
		    void (*found)(void *context, uint32_t space), void *context);
/* Removes all nodes, but keeps the memory. */
void code_tree_clear(struct code_tree *tree);
void code_tree_free(struct code_tree *tree);
