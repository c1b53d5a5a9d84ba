/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the nodes of CUDA graphs were made, which for most is where the program captured a launch. An executable graph
 * has clones of the nodes of the graph that it was instantiated from, and CUPTI's records name these. Owned by the
 * loop's thread. Initialise with {0}.
 */
#pragma once

#include <stdint.h>
#include <base/keyed_array.h>

/* In one half: when one is full, the older one is forgotten. */
#define GRAPH_NODES_MAX 131072u

struct graph_node {
	uint64_t key;      /* CUPTI's id */
	uint64_t original; /* id of the node that it is a clone of; 0: none */
	uint32_t stack;    /* number of the stack at which it was made; 0: not known */
	uint32_t pad;
};

struct graph_nodes {
	KEYED_ARRAY(struct graph_node) halves[2];
	int current;
};

void graph_nodes_free(struct graph_nodes *nodes);
/* A node was made at the stack with this number. */
void graph_nodes_made(struct graph_nodes *nodes, uint64_t id, uint32_t stack);
void graph_nodes_cloned(struct graph_nodes *nodes, uint64_t id, uint64_t original);
/* Returns the number of the stack at which a node, or the node that it is a clone of, was made; 0: not known. */
uint32_t graph_nodes_stack(const struct graph_nodes *nodes, uint64_t id);
