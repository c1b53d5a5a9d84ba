/* SPDX-License-Identifier: Apache-2.0 */
/* See call_sums.h. */
#include "call_sums.h"

#include <stdlib.h>

static void add(uint64_t *sum, uint64_t more)
{
	*sum = *sum + more < *sum ? UINT64_MAX : *sum + more;
}

/* What functions and nodes are known by. */
struct identity {
	uint32_t source, id;
};

static uint64_t identity_hash(uint32_t source, uint32_t id)
{
	return hash_pair(source, id);
}

static bool function_is(const void *context, uint32_t position, const void *wanted)
{
	const struct called_function *function = &((const struct call_sums *)context)->functions[position];
	const struct identity *identity = wanted;
	return function->source == identity->source && function->id == identity->id;
}

static bool node_is(const void *context, uint32_t position, const void *wanted)
{
	const struct called_node *node = &((const struct call_sums *)context)->nodes[position];
	const struct identity *identity = wanted;
	return node->source == identity->source && node->id == identity->id;
}

static uint32_t *place_find(struct call_sums *sums, struct item_index *index, uint32_t source, uint32_t id)
{
	const struct item_owner owner = { .is_equal = index == &sums->node_index ? node_is : function_is,
					  .context = sums };
	const struct identity identity = { source, id };
	return item_index_find(index, &owner, identity_hash(source, id), &identity);
}

/* The position, CALL_SUMS_NONE when it is not known. False: out of memory. */
static bool position_find(struct call_sums *sums, struct item_index *index, uint32_t source, uint32_t id,
			  uint32_t *position)
{
	const uint32_t *place = place_find(sums, index, source, id);
	*position = place && *place ? *place - 1 : CALL_SUMS_NONE;
	return place != NULL;
}

/* Room for one more. */
static bool grow(void **items, uint32_t count, uint32_t *capacity, size_t size)
{
	if (count < *capacity)
		return true;
	uint32_t more = *capacity ? 2 * *capacity : 256;
	void *moved = realloc(*items, more * size);
	if (!moved)
		return false;
	*items = moved;
	*capacity = more;
	return true;
}

bool call_sums_take_function(struct call_sums *sums, const struct iaprof_record_call_function *record)
{
	uint32_t *place = place_find(sums, &sums->function_index, record->header.source, record->id);
	/* The first definition counts. */
	if (!place || *place || sums->function_count == CALL_SUMS_FUNCTIONS_MAX)
		return place != NULL;
	if (!grow((void **)&sums->functions, sums->function_count, &sums->function_capacity, sizeof *sums->functions))
		return false;
	sums->functions[sums->function_count] = (struct called_function){ .source = record->header.source,
									  .id = record->id,
									  .name = record->name,
									  .family = record->family,
									  .kind = record->kind };
	*place = ++sums->function_count;
	sums->function_index.used++;
	return true;
}

bool call_sums_take_node(struct call_sums *sums, const struct iaprof_record_call_node *record)
{
	struct called_node node = { .source = record->header.source, .id = record->id, .context = CALL_SUMS_NONE };
	uint32_t parent = CALL_SUMS_NONE;
	if (!position_find(sums, &sums->function_index, node.source, record->function, &node.function) ||
	    (record->parent && !position_find(sums, &sums->node_index, node.source, record->parent, &parent)))
		return false;
	uint32_t *place = place_find(sums, &sums->node_index, node.source, node.id);
	if (!place || *place || node.function == CALL_SUMS_NONE || sums->node_count == CALL_SUMS_NODES_MAX)
		return place != NULL;
	if (parent != CALL_SUMS_NONE)
		node.context = sums->nodes[parent].context;
	else if (!record->parent && sums->functions[node.function].kind == IAPROF_CALL_CONTEXT)
		node.context = node.function;
	if (!grow((void **)&sums->nodes, sums->node_count, &sums->node_capacity, sizeof *sums->nodes))
		return false;
	sums->nodes[sums->node_count] = node;
	*place = ++sums->node_count;
	sums->node_index.used++;
	return true;
}

bool call_sums_take(struct call_sums *sums, const struct iaprof_record_call *record, const struct called_node **node)
{
	/* Sources of older versions have calls without a node: they are in no profile either. */
	bool has_node = record->header.size >= sizeof *record && record->node;
	uint32_t position = CALL_SUMS_NONE;
	*node = NULL;
	if (has_node && !position_find(sums, &sums->node_index, record->header.source, record->node, &position))
		return false;
	if (position == CALL_SUMS_NONE) {
		add(&sums->unplaced, record->count);
		return true;
	}
	*node = &sums->nodes[position];
	struct called_function *function = &sums->functions[(*node)->function];
	add(&function->count, record->count);
	add(&function->duration, record->duration);
	add(&function->self_duration, record->self_duration);
	return true;
}

void call_sums_free(struct call_sums *sums)
{
	free(sums->functions);
	free(sums->nodes);
	free(sums->function_index.slots);
	free(sums->node_index.slots);
	*sums = (struct call_sums){ 0 };
}
