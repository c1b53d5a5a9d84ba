/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that sources watch, where calls of them belong, and how often and how long each was called. */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_CALL_SUMS_H
#define IAPROF_PLUGINS_FLAMEGRAPH_CALL_SUMS_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "common/item_index.h"

/* More than any honest run has; what is beyond is counted. */
#define CALL_SUMS_FUNCTIONS_MAX (1u << 16)
#define CALL_SUMS_NODES_MAX (1u << 18)

struct called_function {
	uint32_t source, id;
	uint32_t name, family; /* string ids */
	uint32_t kind;         /* enum iaprof_call_kind */
	uint64_t count, duration, self_duration;
};

struct called_node {
	uint32_t source, id;
	uint32_t function; /* position */
	uint32_t context;  /* position of the function that its outermost node is of when that is no call; else NONE */
};
#define CALL_SUMS_NONE UINT32_MAX

/* Initialise with {0}. */
struct call_sums {
	struct called_function *functions;
	uint32_t function_count, function_capacity;
	struct item_index function_index;
	struct called_node *nodes;
	uint32_t node_count, node_capacity;
	struct item_index node_index;
	uint64_t unplaced; /* calls of nodes that are not known */
};

/* These return false when out of memory. */
bool call_sums_take_function(struct call_sums *sums, const struct iaprof_record_call_function *record);
bool call_sums_take_node(struct call_sums *sums, const struct iaprof_record_call_node *record);
/* *node: of the calls, which were added; NULL: it is not known. */
bool call_sums_take(struct call_sums *sums, const struct iaprof_record_call *record, const struct called_node **node);

void call_sums_free(struct call_sums *sums);

#endif
