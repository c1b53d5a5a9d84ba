/* SPDX-License-Identifier: Apache-2.0 */
/* See graph_nodes.h. */
#include "graph_nodes.h"

/* Clones of clones: an executable graph, of a clone, of a graph that is a part of another. */
#define CLONES_MAX 8

void graph_nodes_free(struct graph_nodes *nodes)
{
	keyed_array_free(&nodes->halves[0]);
	keyed_array_free(&nodes->halves[1]);
}

static struct graph_node *find_node(const struct graph_nodes *nodes, uint64_t id)
{
	for (int i = 0; i < 2; i++) {
		struct graph_node *found = keyed_array_get(&nodes->halves[nodes->current ^ i], &id);
		if (found)
			return found;
	}
	return NULL;
}

/* Returns the node with an id, which is added if it is not known, or NULL. */
static struct graph_node *add_node(struct graph_nodes *nodes, uint64_t id)
{
	struct graph_node *known = find_node(nodes, id);
	if (known)
		return known;
	if (nodes->halves[nodes->current].count >= GRAPH_NODES_MAX) {
		nodes->current ^= 1;
		keyed_array_free(&nodes->halves[nodes->current]);
	}
	uint32_t position = keyed_array_add(&nodes->halves[nodes->current], &(const struct graph_node){ .key = id });
	return position == POSITION_NONE ? NULL : &nodes->halves[nodes->current].items[position];
}

void graph_nodes_made(struct graph_nodes *nodes, uint64_t id, uint32_t stack)
{
	struct graph_node *node = add_node(nodes, id);
	if (node)
		node->stack = stack;
}

void graph_nodes_cloned(struct graph_nodes *nodes, uint64_t id, uint64_t original)
{
	struct graph_node *node = add_node(nodes, id);
	if (node)
		node->original = original;
}

uint32_t graph_nodes_stack(const struct graph_nodes *nodes, uint64_t id)
{
	uint32_t stack = 0;
	for (int i = 0; id && i < CLONES_MAX; i++) {
		const struct graph_node *node = find_node(nodes, id);
		if (!node)
			break;
		/* A clone's own stack is where the graph was instantiated. */
		stack = node->stack ? node->stack : stack;
		id = node->original;
	}
	return stack;
}
