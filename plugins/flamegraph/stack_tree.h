/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of a profile as one tree: stacks that begin alike share nodes. Frames that a reader cannot tell apart are
 * one, whatever their addresses.
 */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_STACK_TREE_H
#define IAPROF_PLUGINS_FLAMEGRAPH_STACK_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "common/different_frames.h"

#define STACK_TREE_NONE UINT32_MAX

struct stack_node {
	uint32_t parent; /* STACK_TREE_NONE: a root, which programs are */
	uint32_t frame;  /* position in frames */
};

struct stack_tree {
	const struct iaprof_profile *profile;
	struct different_frames frames;
	struct stack_node *nodes; /* a parent comes before its children */
	uint64_t *values;         /* value_type_count of each node: what ends there */
	uint64_t *before;         /* the same of the earlier run; NULL: the profile is no difference */
	size_t node_count;
	uint32_t *order;  /* nodes from the first root down, children by their names */
	uint32_t *leaves; /* of each stack of the profile: the node where it ends; STACK_TREE_NONE: it has no values */
};

/* Makes the tree; free it in any case. 0 or -ENOMEM, also when there are 2^32 - 1 nodes. Valid as long as the profile.
 */
int stack_tree_make(struct stack_tree *tree, const struct iaprof_profile *profile,
		    const struct stack_text_options *options);
void stack_tree_free(struct stack_tree *tree);

#endif
