/* SPDX-License-Identifier: Apache-2.0 */
/* Functions, the tree of their calls, and their sums: see call_tree.h. */
#include "profile/call_tree.h"

#include <errno.h>

#include "profile/value_table.h"

/* More than any honest run has; a damaged capture must not make tables of its own size. */
#define FUNCTIONS_MAX (1u << 16)
#define NODES_MAX (1u << 18)

void call_tree_free(struct call_tree *tree)
{
	array_free(&tree->functions);
	hash_index_free(&tree->function_index);
	array_free(&tree->nodes);
	hash_index_free(&tree->node_index);
}

static uint64_t hash_id(uint16_t source, uint32_t id)
{
	return hash_u64((uint64_t)source << 32 | id);
}

static uint64_t rehash_function(const void *context, uint32_t position)
{
	const struct call_function *function = &((const struct call_tree *)context)->functions.items[position];
	return hash_id(function->source, function->id);
}

static uint64_t rehash_node(const void *context, uint32_t position)
{
	const struct call_node *node = &((const struct call_tree *)context)->nodes.items[position];
	return hash_id(node->source, node->id);
}

static uint32_t find_function(const struct call_tree *tree, uint16_t source, uint32_t id)
{
	for (struct hash_probe probe = hash_index_probe(&tree->function_index, hash_id(source, id));
	     hash_index_next(&tree->function_index, &probe);) {
		const struct call_function *function = &tree->functions.items[probe.position];
		if (function->id == id && function->source == source)
			return probe.position;
	}
	return CALL_NONE;
}

uint32_t call_tree_find(const struct call_tree *tree, uint16_t source, uint32_t id)
{
	for (struct hash_probe probe = hash_index_probe(&tree->node_index, hash_id(source, id));
	     hash_index_next(&tree->node_index, &probe);) {
		const struct call_node *node = &tree->nodes.items[probe.position];
		if (node->id == id && node->source == source)
			return probe.position;
	}
	return CALL_NONE;
}

int call_tree_take_function(struct call_tree *tree, const struct iaprof_record_call_function *record)
{
	struct call_function function = {
		.source = record->header.source,
		.id = record->id,
		.kind = record->kind,
		.name = intern_text(tree->intern, record->name),
		.family = intern_text(tree->intern, record->family),
	};
	uint32_t known = find_function(tree, function.source, function.id);
	if (known != CALL_NONE) {
		const struct call_function *same = &tree->functions.items[known];
		/* Interned: the same text has one address. */
		return same->name == function.name && same->kind == function.kind ? 0 : -EINVAL;
	}
	uint32_t position = (uint32_t)tree->functions.count;
	if (position >= FUNCTIONS_MAX)
		return -EINVAL;
	if (!array_push(&tree->functions, function))
		return -ENOMEM;
	if (hash_index_add(&tree->function_index, hash_id(function.source, function.id), position, rehash_function,
			   tree))
		return 0;
	tree->functions.count--;
	return -ENOMEM;
}

int call_tree_take_node(struct call_tree *tree, const struct iaprof_record_call_node *record)
{
	uint16_t source = record->header.source;
	struct call_node node = {
		.source = source,
		.id = record->id,
		.parent = record->parent ? call_tree_find(tree, source, record->parent) : CALL_NONE,
		.function = find_function(tree, source, record->function),
	};
	uint32_t known = call_tree_find(tree, source, record->id);
	if (known != CALL_NONE) {
		const struct call_node *same = &tree->nodes.items[known];
		return same->parent == node.parent && same->function == node.function ? 0 : -EINVAL;
	}
	if (node.function == CALL_NONE || (record->parent && node.parent == CALL_NONE) ||
	    tree->nodes.count >= NODES_MAX)
		return -EINVAL;
	node.depth = node.parent == CALL_NONE ? 0 : tree->nodes.items[node.parent].depth + 1;
	if (node.depth >= IAPROF_CALL_DEPTH_MAX)
		return -EINVAL;
	uint32_t position = (uint32_t)tree->nodes.count;
	if (!array_push(&tree->nodes, node))
		return -ENOMEM;
	if (hash_index_add(&tree->node_index, hash_id(source, node.id), position, rehash_node, tree))
		return 0;
	tree->nodes.count--;
	return -ENOMEM;
}

static void add(struct call_sums *sums, const struct iaprof_record_call *record)
{
	sums->count = saturating_add(sums->count, record->count);
	sums->duration = saturating_add(sums->duration, record->duration);
	sums->self_duration = saturating_add(sums->self_duration, record->self_duration);
}

void call_tree_add(struct call_tree *tree, uint32_t node, const struct iaprof_record_call *record)
{
	add(&tree->nodes.items[node].sums, record);
	add(&tree->functions.items[tree->nodes.items[node].function].sums, record);
}
