/* SPDX-License-Identifier: Apache-2.0 */
/* See call_tree.h. */
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <iaprof/record.h>
#include "api_functions.h"
#include "npu/call_graph.h"
#include "npu/driver_functions.h"
#include "call_tree.h"

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
	keyed_array_free(&known->nodes);
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
	return call_records_named_node(known->records, 0, name, NULL, IAPROF_CALL_CONTEXT, time);
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

	const struct known_node *known_node = keyed_array_get(&known->nodes, &hash);
	if (known_node) {
		*id = known_node->id;
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
	if (request &&
	    !(parent = call_records_named_node(known->records, parent, request, NULL, IAPROF_CALL_IOCTL, time)))
		return false;
	*id = call_records_node(known->records, parent, function, time);
	if (*id && *id != parent)
		place_set(known, *id, parent, hash & (IVPU_FUNCTIONS_MAX - 1));
	if (!*id || !found)
		return *id != 0;
	const struct known_node added = { .key = hash, .id = *id };
	return keyed_array_add(&known->nodes, &added) != POSITION_NONE;
}

const struct call_place *call_tree_place(const struct call_tree *known, uint32_t id)
{
	return &known->places[id];
}

bool call_tree_id(struct call_tree *known, uint64_t hash, uint64_t time, uint32_t *id)
{
	return node_id(known, hash, time, 0, id);
}
