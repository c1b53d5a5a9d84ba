/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of CUDA graphs whose stacks were taken. Kernels in a graph are executed with the correlation id of its
 * launch; those of launches without a stack belong to the latest launch of the same graph that has one. Owned by the
 * loop's thread. Initialise with {0}.
 */
#pragma once

#include <stdint.h>
#include <base/array.h>

/* Those whose executions have not come yet, by correlation id: a later one replaces one of the same place. */
#define GRAPH_LAUNCHES_RECENT 8192u
/* Limit on executable graphs; the kernels of further ones have the launches of their kernel. */
#define GRAPHS_MAX 1024u

struct graph_launch {
	uint64_t correlation; /* 0: none */
	uint32_t tid, thread_name;
	uint32_t stack; /* number in struct kept_stacks */
	uint32_t pad;
};

struct executable_graph {
	uint32_t id;
	struct graph_launch latest;
};

struct graph_launches {
	struct graph_launch recent[GRAPH_LAUNCHES_RECENT];
	ARRAY(struct executable_graph) graphs;
	size_t last; /* position of the graph that was found last */
};

void graph_launches_free(struct graph_launches *launches);
void graph_launches_add(struct graph_launches *launches, const struct graph_launch *launch);
/* Returns the launch to which an execution belongs, valid until the next call; NULL if none is known. */
const struct graph_launch *graph_launches_find(struct graph_launches *launches, uint32_t graph, uint64_t correlation);
/*
 * Of a group of executions among those of a graph, such as copies of about one size: if the launch that was found is
 * that of the execution, it is the group's latest from now on. Returns the group's latest, or else the one that was
 * found; valid until the next call.
 */
const struct graph_launch *graph_launches_refine(struct graph_launches *launches, uint32_t group,
						 const struct graph_launch *found, uint64_t correlation);
/* Returns the latest launch of a graph, or NULL. */
const struct graph_launch *graph_launches_latest(struct graph_launches *launches, uint32_t graph);
