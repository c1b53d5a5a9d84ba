/* SPDX-License-Identifier: Apache-2.0 */
/* See call_tree.h. */
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <iaprof/record.h>
#include "api_functions.h"
#include "call_graph.h"
#include "driver_functions.h"
#include "call_tree.h"

struct known_node {
	uint64_t hash;
	uint32_t id;
};

static int compare_nodes(const void *left, const void *right)
{
	const struct known_node *one = left, *other = right;

	return (one->hash > other->hash) - (one->hash < other->hash);
}

bool call_tree_init(struct call_tree *known, struct call_records *records, const struct function_list *list,
		    int parents)
{
	*known = (struct call_tree){ .records = records, .list = list, .parents = parents };
	/* Pages of unused nodes are never touched. */
	known->places = calloc(CALL_NODES_MAX + 1, sizeof *known->places);
	return known->places;
}

void call_tree_free(struct call_tree *known)
{
	tdestroy(known->nodes, free);
	known->nodes = NULL;
	free(known->places);
	known->places = NULL;
}

/* Returns the id of a function by its index. The index is checked, because map contents are not trusted. */
static uint32_t function_id(struct call_tree *known, uint32_t index, uint64_t time)
{
	const struct function_list *list = known->list;

	if (index >= IVPU_API_FIRST && api_function_name(index - IVPU_API_FIRST)) {
		if (!known->functions[index])
			known->functions[index] =
				call_records_function(known->records, api_function_name(index - IVPU_API_FIRST),
						      "Level Zero", IAPROF_CALL_API, time);
		return known->functions[index];
	}
	if (index >= list->count)
		return call_records_function(known->records, "[unknown function]", NULL, IAPROF_CALL_FUNCTION, time);
	if (!known->functions[index]) {
		const char *name = list->functions[index].name;
		known->functions[index] =
			call_records_function(known->records, name, ivpu_family_name(ivpu_function_find(name)->family),
					      IAPROF_CALL_FUNCTION, time);
	}
	return known->functions[index];
}

static uint32_t context_id(struct call_tree *known, const char *name, uint64_t time)
{
	uint32_t function = call_records_function(known->records, name, NULL, IAPROF_CALL_CONTEXT, time);

	return function ? call_records_node(known->records, 0, function, time) : 0;
}

/* Returns the ioctl that a function handles when a program called it, or NULL. */
static const char *request_name(const struct call_tree *known, uint32_t index, uint64_t parent)
{
	bool is_outermost = parent == IVPU_ROOT_TASK ||
			    (parent & IVPU_NODE_BIT && (parent & (IVPU_FUNCTIONS_MAX - 1)) >= IVPU_API_FIRST);

	if (!is_outermost || index >= known->list->count)
		return NULL;
	return ivpu_function_find(known->list->functions[index].name)->ioctl_name;
}

/* Returns the id of an ioctl's node below a parent, or 0 when out of memory. */
static uint32_t request_id(struct call_tree *known, const char *name, uint32_t parent, uint64_t time)
{
	uint32_t function = call_records_function(known->records, name, NULL, IAPROF_CALL_IOCTL, time);

	return function ? call_records_node(known->records, parent, function, time) : 0;
}

/* Sets the place of a driver function's node. */
static void place_set(struct call_tree *known, uint32_t id, uint32_t parent, uint32_t index)
{
	const struct call_place *caller = &known->places[parent];
	const char *name = index < known->list->count ? known->list->functions[index].name : "";
	char short_name[128];

	call_name_shorten(name, short_name, sizeof short_name);
	struct call_place place = {
		.place = ivpu_place_of(caller->place, short_name, ivpu_function_find(name)->event == IVPU_EVENT_SUBMIT),
		.in_boot = caller->in_boot || !strcmp(short_name, "wait_for_ready"),
	};
	place.begins_phase = place.place.phase != caller->place.phase;
	known->places[id] = place;
}

/* Finds the id of the node with a hash, defining it and its parents if it is new. Returns false when out of memory. */
static bool node_id(struct call_tree *known, uint64_t hash, uint64_t time, uint32_t depth, uint32_t *id)
{
	if (hash == IVPU_ROOT_TASK) {
		*id = 0;
		return true;
	}
	if (hash == IVPU_ROOT_INTERRUPT)
		return (*id = context_id(known, "[interrupt]", time)) != 0;

	struct known_node wanted = { .hash = hash };
	struct known_node *const *found_node = tfind(&wanted, &known->nodes, compare_nodes);
	if (found_node) {
		*id = (*found_node)->id;
		return true;
	}
	uint64_t parent_hash;
	uint32_t parent = 0, function = function_id(known, hash & (IVPU_FUNCTIONS_MAX - 1), time);
	bool found = hash & IVPU_NODE_BIT && depth < IVPU_FRAMES &&
		     bpf_map_lookup_elem(known->parents, &hash, &parent_hash) == 0;
	if (!function)
		return false;
	/* If the kernel had no room for a node, its calls are still attributed to their function. */
	if (found ? !node_id(known, parent_hash, time, depth + 1, &parent)
		  : !(parent = context_id(known, "[other calls]", time)))
		return false;
	const char *request = found ? request_name(known, hash & (IVPU_FUNCTIONS_MAX - 1), parent_hash) : NULL;
	if (request && !(parent = request_id(known, request, parent, time)))
		return false;
	*id = call_records_node(known->records, parent, function, time);
	if (*id && *id != parent)
		place_set(known, *id, parent, hash & (IVPU_FUNCTIONS_MAX - 1));
	if (!*id || !found)
		return *id != 0;
	struct known_node *node = malloc(sizeof *node);
	if (!node)
		return false;
	*node = (struct known_node){ .hash = hash, .id = *id };
	if (tsearch(node, &known->nodes, compare_nodes))
		return true;
	free(node);
	return false;
}

const struct call_place *call_tree_place(const struct call_tree *known, uint32_t id)
{
	return &known->places[id];
}

bool call_tree_id(struct call_tree *known, uint64_t hash, uint64_t time, uint32_t *id)
{
	return node_id(known, hash, time, 0, id);
}
