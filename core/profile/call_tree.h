/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that sources watch, the tree of their calls, and how often and how long each was called. Texts are
 * interned, and live as long as the run. Belongs to the collector's thread.
 */
#ifndef IAPROF_CORE_PROFILE_CALL_TREE_H
#define IAPROF_CORE_PROFILE_CALL_TREE_H

#include <stdint.h>
#include <iaprof/record.h>

#include "base/array.h"
#include "base/hash.h"
#include "bus/intern.h"

#define CALL_NONE UINT32_MAX

struct call_sums {
	uint64_t count;
	uint64_t duration, self_duration; /* ns */
};

struct call_function {
	uint16_t source;
	uint32_t id;
	uint32_t kind; /* enum iaprof_call_kind */
	const char *name, *family;
	struct call_sums sums; /* a function that calls itself counts its duration twice */
};

struct call_node {
	uint16_t source;
	uint32_t id;
	uint32_t parent;   /* position, CALL_NONE: outermost */
	uint32_t function; /* position */
	uint32_t depth;    /* 0: outermost */
	struct call_sums sums;
};

/* Initialise with {0} and intern. */
struct call_tree {
	struct intern *intern;
	ARRAY(struct call_function) functions;
	struct hash_index function_index;
	ARRAY(struct call_node) nodes; /* parents before their children */
	struct hash_index node_index;
};

void call_tree_free(struct call_tree *tree);

/* These return 0, -ENOMEM, or -EINVAL: the id means something else already, there are too many, or the node's function
 * or parent is not known. */
int call_tree_take_function(struct call_tree *tree, const struct iaprof_record_call_function *record);
int call_tree_take_node(struct call_tree *tree, const struct iaprof_record_call_node *record);

/* The position of a source's node, CALL_NONE when it is not known. */
uint32_t call_tree_find(const struct call_tree *tree, uint16_t source, uint32_t id);

/* Adds calls of a node. */
void call_tree_add(struct call_tree *tree, uint32_t node, const struct iaprof_record_call *record);

#endif
