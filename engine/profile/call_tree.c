/* SPDX-License-Identifier: Apache-2.0 */
/* Functions, the tree of their calls, and their sums: see call_tree.h. */
#include "profile/call_tree.h"

#include <errno.h>
#include <string.h>

#include "base/saturating.h"

/* Limits that no real run reaches, so that a damaged capture cannot cause large tables. */
#define FUNCTIONS_MAX (1u << 16)
#define NODES_MAX (1u << 18)

void call_tree_free(struct call_tree *tree)
{
	keyed_array_free(&tree->functions);
	keyed_array_free(&tree->nodes);
}

static uint32_t find_function(const struct call_tree *tree, uint16_t source, uint32_t id)
{
	return keyed_array_find(&tree->functions, &((struct source_id){ source, id }));
}

uint32_t call_tree_find(const struct call_tree *tree, uint16_t source, uint32_t id)
{
	return keyed_array_find(&tree->nodes, &((struct source_id){ source, id }));
}

uint32_t call_tree_find_call(const struct call_tree *tree, const struct iaprof_record_call *record)
{
	bool has_node = IAPROF_HAS_MEMBER(record, record->header.size, self_duration) &&
			record->node; /* calls of older sources have none */
	return has_node ? call_tree_find(tree, record->header.source, record->node) : CALL_NONE;
}

/*
 * Returns whether a function changes a device's power state or resets it, by the naming conventions of Linux drivers.
 */
static bool changes_power(const char *name)
{
	static const char *const words[] = { "resume", "suspend", "recovery", "reset_" };
	static const char suffix[] = "_boot";
	size_t length = strlen(name), suffix_length = sizeof suffix - 1;
	if (length >= suffix_length && !strcmp(name + length - suffix_length, suffix))
		return true;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(name, words[i]))
			return true;
	return false;
}

int call_tree_take_function(struct call_tree *tree, const struct iaprof_record_call_function *record)
{
	struct call_function function = {
		.key = { record->header.source, record->id },
		.kind = record->kind,
		.name_id = record->name,
		.family_id = record->family,
		.name = intern_text(tree->intern, record->name),
		.family = intern_text(tree->intern, record->family),
	};
	function.changes_power = function.kind == IAPROF_CALL_FUNCTION && changes_power(function.name);
	uint32_t known = keyed_array_find(&tree->functions, &function.key);
	if (known != CALL_NONE) {
		const struct call_function *same = &tree->functions.items[known];
		/* Interned: equal strings have the same address. */
		return same->name == function.name && same->kind == function.kind ? 0 : -EINVAL;
	}
	if (tree->functions.count >= FUNCTIONS_MAX)
		return -EINVAL;
	return keyed_array_add(&tree->functions, &function) == POSITION_NONE ? -ENOMEM : 0;
}

int call_tree_take_node(struct call_tree *tree, const struct iaprof_record_call_node *record)
{
	uint16_t source = record->header.source;
	struct call_node node = {
		.key = { source, record->id },
		.parent = record->parent ? call_tree_find(tree, source, record->parent) : CALL_NONE,
		.function = find_function(tree, source, record->function),
	};
	uint32_t known = keyed_array_find(&tree->nodes, &node.key);
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
	uint32_t outermost =
		tree->functions.items[node.function].kind == IAPROF_CALL_CONTEXT ? node.function : CALL_NONE;
	node.context = node.parent == CALL_NONE ? outermost : tree->nodes.items[node.parent].context;
	return keyed_array_add(&tree->nodes, &node) == POSITION_NONE ? -ENOMEM : 0;
}

struct call_families call_tree_families(const struct call_tree *tree)
{
	struct call_families families = { 0 };
	for (size_t i = 0; i < tree->functions.count; i++)
		call_families_add(&families, tree->functions.items[i].family, &tree->functions.items[i].sums);
	return families;
}

void call_tree_add(struct call_tree *tree, uint32_t node, const struct iaprof_record_call *record)
{
	const struct call_sums more = { record->count, record->duration, record->self_duration };
	call_sums_add(&tree->nodes.items[node].sums, &more);
	call_sums_add(&tree->functions.items[tree->nodes.items[node].function].sums, &more);
}
