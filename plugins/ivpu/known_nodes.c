/* SPDX-License-Identifier: Apache-2.0 */
/* See known_nodes.h. */
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <iaprof/record.h>
#include "api_functions.h"
#include "families.h"
#include "known_nodes.h"

struct known_node {
	uint64_t hash;
	uint32_t id;
};

static int compare_nodes(const void *left, const void *right)
{
	const struct known_node *one = left, *other = right;

	return (one->hash > other->hash) - (one->hash < other->hash);
}

void known_nodes_init(struct known_nodes *known, struct call_records *records, const struct function_list *list,
		      int parents)
{
	*known = (struct known_nodes){ .records = records, .list = list, .parents = parents };
}

void known_nodes_free(struct known_nodes *known)
{
	tdestroy(known->nodes, free);
	known->nodes = NULL;
}

/* The id of a function by its index, which has to be one of the list's: the map's contents are not taken on trust. */
static uint32_t function_id(struct known_nodes *known, uint32_t index, uint64_t time)
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
		if (!strcmp(name, "ivpu_wait_for_ready"))
			known->wait_for_ready = known->functions[index];
	}
	return known->functions[index];
}

static uint32_t context_id(struct known_nodes *known, const char *name, uint64_t time)
{
	uint32_t function = call_records_function(known->records, name, NULL, IAPROF_CALL_CONTEXT, time);

	return function ? call_records_node(known->records, 0, function, time) : 0;
}

/* What a function of the driver serves for a program, when it is called for one; NULL: nothing. */
static const char *request_name(const struct known_nodes *known, uint32_t index, uint64_t parent)
{
	bool is_outermost = parent == IVPU_ROOT_TASK ||
			    (parent & IVPU_NODE_BIT && (parent & (IVPU_FUNCTIONS_MAX - 1)) >= IVPU_API_FIRST);

	if (!is_outermost || index >= known->list->count)
		return NULL;
	return ivpu_function_find(known->list->functions[index].name)->ioctl_name;
}

/* The id of the node of a request below a parent; 0: out of memory. */
static uint32_t request_id(struct known_nodes *known, const char *name, uint32_t parent, uint64_t time)
{
	uint32_t function = call_records_function(known->records, name, NULL, IAPROF_CALL_IOCTL, time);

	return function ? call_records_node(known->records, parent, function, time) : 0;
}

/* The id of the node with a hash, defined with its parents when it is new. Returns whether there was memory. */
static bool node_id(struct known_nodes *known, uint64_t hash, uint64_t time, uint32_t depth, uint32_t *id)
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
	/* Without room for its node in the kernel, a call still is one of its function. */
	if (found ? !node_id(known, parent_hash, time, depth + 1, &parent)
		  : !(parent = context_id(known, "[other calls]", time)))
		return false;
	const char *request = found ? request_name(known, hash & (IVPU_FUNCTIONS_MAX - 1), parent_hash) : NULL;
	if (request && !(parent = request_id(known, request, parent, time)))
		return false;
	*id = call_records_node(known->records, parent, function, time);
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

bool known_nodes_is_in_boot(const struct known_nodes *known, uint32_t node)
{
	const struct call_record_node *nodes = known->records->nodes;

	for (uint32_t i = node; i; i = nodes[i].parent)
		if (nodes[i].function == known->wait_for_ready)
			return known->wait_for_ready;
	return false;
}

bool known_nodes_id(struct known_nodes *known, uint64_t hash, uint64_t time, uint32_t *id)
{
	return node_id(known, hash, time, 0, id);
}
