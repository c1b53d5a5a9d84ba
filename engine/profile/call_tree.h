/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions traced by sources, their call tree, call counts and durations. Strings are interned and valid for the whole
 * run. Owned by the collector thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "base/keyed_array.h"
#include "bus/intern.h"
#include "bus/source_id.h"
#include "stacks/call_families.h"

#define CALL_NONE POSITION_NONE

struct call_function {
	struct source_id key;
	uint32_t kind;               /* enum iaprof_call_kind */
	uint32_t name_id, family_id; /* string ids */
	const char *name, *family;
	bool changes_power;    /* resumes, suspends, boots or resets a device, judging by its name */
	struct call_sums sums; /* recursive calls are counted at each level */
};

struct call_node {
	struct source_id key;
	uint32_t parent;   /* position, CALL_NONE: outermost */
	uint32_t function; /* position */
	uint32_t depth;    /* 0: outermost */
	uint32_t context; /* position of the function of its outermost node if that is a context, otherwise CALL_NONE */
	struct call_sums sums;
};

/* Initialise with {0} and intern. */
struct call_tree {
	struct intern *intern;
	KEYED_ARRAY(struct call_function) functions;
	KEYED_ARRAY(struct call_node) nodes; /* parents before their children */
};

void call_tree_free(struct call_tree *tree);

/*
 * These return 0, -ENOMEM, or -EINVAL: the id is already defined differently, there are too many, or the node's
 * function or parent is not known.
 */
int call_tree_take_function(struct call_tree *tree, const struct iaprof_record_call_function *record);
int call_tree_take_node(struct call_tree *tree, const struct iaprof_record_call_node *record);

/* Returns the position of a source's node, CALL_NONE if it is not known. */
uint32_t call_tree_find(const struct call_tree *tree, uint16_t source, uint32_t id);

/* Returns the position of the node of calls, CALL_NONE if they have none or it is not known. */
uint32_t call_tree_find_call(const struct call_tree *tree, const struct iaprof_record_call *record);

/* Returns the sums by family of all functions; contexts are not counted. */
struct call_families call_tree_families(const struct call_tree *tree);

/* Adds calls of a node. */
void call_tree_add(struct call_tree *tree, uint32_t node, const struct iaprof_record_call *record);
