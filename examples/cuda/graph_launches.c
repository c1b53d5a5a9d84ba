/* SPDX-License-Identifier: Apache-2.0 */
/* See graph_launches.h. */
#include "graph_launches.h"

void graph_launches_free(struct graph_launches *launches)
{
	array_free(&launches->graphs);
}

void graph_launches_add(struct graph_launches *launches, const struct graph_launch *launch)
{
	launches->recent[launch->correlation % GRAPH_LAUNCHES_RECENT] = *launch;
}

static struct executable_graph *find_graph(struct graph_launches *launches, uint32_t graph)
{
	struct executable_graph *graphs = launches->graphs.items;
	/* Its kernels follow each other. */
	if (launches->last < launches->graphs.count && graphs[launches->last].id == graph)
		return &graphs[launches->last];
	for (launches->last = 0; launches->last < launches->graphs.count; launches->last++)
		if (graphs[launches->last].id == graph)
			return &graphs[launches->last];
	return NULL;
}

static struct executable_graph *add_graph(struct graph_launches *launches, uint32_t graph)
{
	if (launches->graphs.count >= GRAPHS_MAX ||
	    !array_push(&launches->graphs, ((struct executable_graph){ .id = graph })))
		return NULL;
	return &launches->graphs.items[launches->graphs.count - 1];
}

const struct graph_launch *graph_launches_latest(struct graph_launches *launches, uint32_t graph)
{
	const struct executable_graph *known = find_graph(launches, graph);
	return known && known->latest.correlation ? &known->latest : NULL;
}

const struct graph_launch *graph_launches_refine(struct graph_launches *launches, uint32_t group,
						 const struct graph_launch *found, uint64_t correlation)
{
	struct graph_launch own = *found;
	struct executable_graph *known = find_graph(launches, group);
	if (own.correlation == correlation && (known || (known = add_graph(launches, group))))
		known->latest = own;
	return known ? &known->latest : found;
}

const struct graph_launch *graph_launches_find(struct graph_launches *launches, uint32_t graph, uint64_t correlation)
{
	struct executable_graph *known = find_graph(launches, graph);
	struct graph_launch *launch = &launches->recent[correlation % GRAPH_LAUNCHES_RECENT];
	if (correlation && launch->correlation == correlation && (known || (known = add_graph(launches, graph)))) {
		known->latest = *launch;
		*launch = (struct graph_launch){ 0 };
	}
	return known && known->latest.correlation ? &known->latest : NULL;
}
