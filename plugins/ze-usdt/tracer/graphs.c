/* SPDX-License-Identifier: Apache-2.0 */
/* The registry's graphs: recordings that a program captures, instantiates and appends to lists. */
#include "free_list.h"
#include "registry.h"

/* With the lock. Replaces an entry with the same handle: its end was not seen. Returns NULL when out of memory. */
static struct graph *graph_add(struct registry *registry, struct pointer_map *graphs, uintptr_t handle)
{
	struct graph *graph = pointer_map_find(graphs, handle);

	if (graph) {
		if (graph->capturing)
			atomic_fetch_sub(&registry->captures, 1);
		graph->capturing = false;
		return graph;
	}
	graph = TAKE(registry->free_graphs);
	if (!graph)
		return NULL;
	graph->handle = handle;
	if (!pointer_map_add(graphs, handle, graph)) {
		GIVE(registry->free_graphs, graph);
		return NULL;
	}
	return graph;
}

/* With the lock. */
static void graph_remove(struct registry *registry, struct pointer_map *graphs, uintptr_t handle)
{
	struct graph *graph = pointer_map_remove(graphs, handle);

	if (!graph)
		return;
	if (graph->capturing)
		atomic_fetch_sub(&registry->captures, 1);
	GIVE(registry->free_graphs, graph);
}

static struct graph *graph_get(struct registry *registry, const struct pointer_map *graphs, uintptr_t handle)
{
	registry_lock(registry);
	struct graph *graph = pointer_map_find(graphs, handle);
	registry_unlock(registry);
	return graph;
}

struct graph *registry_begin_capture(struct registry *registry, uintptr_t handle)
{
	registry_lock(registry);
	struct graph *graph = graph_add(registry, &registry->graphs, handle);
	if (graph) {
		graph->recording = registry_next_recording(registry);
		atomic_store_explicit(&graph->launches, 0, memory_order_relaxed);
		graph->capturing = true;
		atomic_fetch_add(&registry->captures, 1);
	}
	registry_unlock(registry);
	return graph;
}

void registry_end_capture(struct registry *registry, uintptr_t handle)
{
	registry_lock(registry);
	struct graph *graph = pointer_map_find(&registry->graphs, handle);
	if (graph && graph->capturing) {
		graph->capturing = false;
		atomic_fetch_sub(&registry->captures, 1);
	}
	registry_unlock(registry);
}

struct graph *registry_add_executable(struct registry *registry, uintptr_t handle, uintptr_t executable)
{
	registry_lock(registry);
	const struct graph *graph = pointer_map_find(&registry->graphs, handle);
	struct graph *added = graph ? graph_add(registry, &registry->executables, executable) : NULL;
	if (added) {
		added->recording = graph->recording;
		atomic_store_explicit(&added->launches, atomic_load_explicit(&graph->launches, memory_order_relaxed),
				      memory_order_relaxed);
	} else {
		/* Not taken for an earlier one with the same handle. */
		graph_remove(registry, &registry->executables, executable);
	}
	registry_unlock(registry);
	return added;
}

struct graph *registry_get_graph(struct registry *registry, uintptr_t handle)
{
	return graph_get(registry, &registry->graphs, handle);
}

struct graph *registry_get_executable(struct registry *registry, uintptr_t executable)
{
	return graph_get(registry, &registry->executables, executable);
}

void registry_remove_graph(struct registry *registry, uintptr_t handle)
{
	registry_lock(registry);
	graph_remove(registry, &registry->graphs, handle);
	registry_unlock(registry);
}

void registry_remove_executable(struct registry *registry, uintptr_t executable)
{
	registry_lock(registry);
	graph_remove(registry, &registry->executables, executable);
	registry_unlock(registry);
}
