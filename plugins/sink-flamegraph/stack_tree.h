/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of a profile as one tree: stacks with a common root share nodes. Frames that differ only in their
 * addresses are merged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "stack_origins.h"
#include "stacks/different_frames.h"

#define STACK_TREE_NONE UINT32_MAX

struct stack_node {
	uint32_t parent; /* STACK_TREE_NONE: a root, that is, a program */
	uint32_t frame;  /* position in frames */
};

struct stack_tree {
	const struct iaprof_profile *profile;
	struct different_frames frames;
	struct stack_origins origins;
	bool has_leaf_origins;
	struct stack_node *nodes; /* a parent comes before its children */
	uint64_t *values;         /* value_type_count per node: self values */
	uint64_t *before;         /* self values in the earlier run; NULL: the profile is not a difference */
	size_t node_count;
	uint32_t *order;  /* nodes in depth-first order, children by name */
	uint32_t *leaves; /* for each stack of the profile: its leaf node; STACK_TREE_NONE: the stack has no values */
};

/*
 * Builds the tree, which the caller frees in any case. Returns 0, or -ENOMEM, also at 2^32 - 1 nodes. Valid for the
 * lifetime of the profile. Threads are below the program if the options show them; has_leaf_origins: threads and
 * devices, where there are several, and spans are below the leaf instead, so that the stacks of all share their nodes.
 */
int stack_tree_make(struct stack_tree *tree, const struct iaprof_profile *profile,
		    const struct stack_text_options *options, bool has_leaf_origins);
void stack_tree_free(struct stack_tree *tree);
