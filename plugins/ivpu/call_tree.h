/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps the call tree's nodes, which the Linux kernel knows only as hashes (ivpu_shared.h), to ids in the records. Adds
 * the ioctl between a program's call and the driver function that handles it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/keyed_array.h"
#include "npu/call_records.h"
#include "function_list.h"
#include "ivpu_shared.h"
#include "npu/driver_functions.h"

/* What the callers of a node determine. */
struct call_place {
	struct ivpu_place place;
	bool in_boot;      /* the driver waits for its firmware to boot: polls for the boot message are not messages */
	bool begins_phase; /* its caller belongs to another phase */
};

struct known_node {
	uint64_t key; /* hash */
	uint32_t id;
};

struct call_tree {
	struct call_records *records;
	const struct function_list *list;
	int parents; /* the BPF map of each node's parent */
	KEYED_ARRAY(struct known_node) nodes;
	uint32_t functions[IVPU_FUNCTIONS_MAX]; /* ids in records, by index; 0: not yet defined */
	struct call_place *places;              /* CALL_NODES_MAX + 1, by id of the node */
};

/* Returns false when out of memory. Free with call_tree_free() in either case. */
bool call_tree_init(struct call_tree *known, struct call_records *records, const struct function_list *list,
		    int parents);
void call_tree_free(struct call_tree *known);

/*
 * Finds the id of the node with a hash; if it is new, defines it and its parents as of that time. Returns false when
 * out of memory.
 */
bool call_tree_id(struct call_tree *known, uint64_t hash, uint64_t time, uint32_t *id);
/* Returns the place of a node. */
const struct call_place *call_tree_place(const struct call_tree *known, uint32_t id);
