/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See code_tree.h. An AVL tree: programs choose addresses, so its height must not depend on them. Nodes are never
 * removed individually: code_index_forget() rebuilds the tree.
 */
#include "symbolizer/device/code_tree.h"

#include <stdbool.h>

static struct code_tree_node *node_at(const struct code_tree *tree, uint32_t child)
{
	return &tree->nodes.items[child - 1];
}

static uint32_t height(const struct code_tree *tree, uint32_t child)
{
	return child ? node_at(tree, child)->height : 0;
}

static bool is_before(const struct code_tree_node *a, const struct code_tree_node *b)
{
	if (a->device != b->device)
		return a->device < b->device;
	if (a->start != b->start)
		return a->start < b->start;
	if (a->loaded != b->loaded)
		return a->loaded < b->loaded;
	return a->serial < b->serial;
}

/* Updates what a node stores about its subtree. */
static void update(const struct code_tree *tree, uint32_t at)
{
	struct code_tree_node *node = node_at(tree, at);
	node->height = 1;
	node->reach = node->end;
	node->first = node->loaded;
	node->last = node->over;
	for (int side = 0; side < 2; side++) {
		if (!node->children[side])
			continue;
		const struct code_tree_node *child = node_at(tree, node->children[side]);
		node->height = child->height >= node->height ? child->height + 1 : node->height;
		node->reach = child->reach > node->reach ? child->reach : node->reach;
		node->first = child->first < node->first ? child->first : node->first;
		node->last = child->last > node->last ? child->last : node->last;
	}
}

/* Rotates a child into the position of its parent; returns the child. */
static uint32_t rotate(const struct code_tree *tree, uint32_t parent, int side)
{
	struct code_tree_node *sinking = node_at(tree, parent);
	uint32_t risen = sinking->children[side];
	struct code_tree_node *rising = node_at(tree, risen);
	sinking->children[side] = rising->children[!side];
	rising->children[!side] = parent;
	update(tree, parent);
	update(tree, risen);
	return risen;
}

static uint32_t balance(const struct code_tree *tree, uint32_t at)
{
	struct code_tree_node *node = node_at(tree, at);
	for (int side = 0; side < 2; side++) {
		if (height(tree, node->children[side]) <= height(tree, node->children[!side]) + 1)
			continue;
		const struct code_tree_node *child = node_at(tree, node->children[side]);
		if (height(tree, child->children[!side]) > height(tree, child->children[side]))
			node->children[side] = rotate(tree, node->children[side], !side);
		return rotate(tree, at, side);
	}
	update(tree, at);
	return at;
}

static uint32_t insert(const struct code_tree *tree, uint32_t at, uint32_t added)
{
	if (!at)
		return added;
	struct code_tree_node *node = node_at(tree, at);
	int side = is_before(node_at(tree, added), node) ? 0 : 1;
	node->children[side] = insert(tree, node->children[side], added);
	return balance(tree, at);
}

void code_tree_add(struct code_tree *tree, uint64_t device, const struct code_interval *interval, uint64_t over,
		   uint32_t space)
{
	uint32_t added = (uint32_t)++tree->nodes.count;
	*node_at(tree, added) = (struct code_tree_node){ .device = device,
							 .start = interval->start,
							 .loaded = interval->loaded,
							 .serial = interval->serial,
							 .end = interval->end,
							 .over = over,
							 .space = space };
	update(tree, added);
	tree->root = insert(tree, tree->root, added);
}

static void end_below(const struct code_tree *tree, uint32_t at, const struct code_tree_node *wanted)
{
	if (!at)
		return;
	struct code_tree_node *node = node_at(tree, at);
	if (is_before(wanted, node))
		end_below(tree, node->children[0], wanted);
	else if (is_before(node, wanted))
		end_below(tree, node->children[1], wanted);
	else if (wanted->over < node->over)
		node->over = wanted->over;
	update(tree, at);
}

void code_tree_end(struct code_tree *tree, uint64_t device, const struct code_interval *interval, uint64_t time)
{
	struct code_tree_node wanted = { .device = device,
					 .start = interval->start,
					 .loaded = interval->loaded,
					 .serial = interval->serial,
					 .over = time };
	end_below(tree, tree->root, &wanted);
}

struct question {
	uint64_t device, address, begin, end;
	void (*found)(void *context, uint32_t space);
	void *context;
};

static void find_below(const struct code_tree *tree, uint32_t at, const struct question *question)
{
	if (!at)
		return;
	const struct code_tree_node *node = node_at(tree, at);
	/* Ends are exclusive. */
	if (node->reach <= question->address || node->last <= question->begin || node->first > question->end)
		return;
	if (node->device >= question->device)
		find_below(tree, node->children[0], question);
	if (node->device > question->device || (node->device == question->device && node->start > question->address))
		return;
	if (node->device == question->device && node->end > question->address && node->over > question->begin &&
	    node->loaded <= question->end)
		question->found(question->context, node->space);
	find_below(tree, node->children[1], question);
}

void code_tree_find(const struct code_tree *tree, uint64_t device, uint64_t address, uint64_t begin, uint64_t end,
		    void (*found)(void *context, uint32_t space), void *context)
{
	struct question question = {
		.device = device, .address = address, .begin = begin, .end = end, .found = found, .context = context
	};
	find_below(tree, tree->root, &question);
}

void code_tree_clear(struct code_tree *tree)
{
	tree->nodes.count = 0;
	tree->root = 0;
}

void code_tree_free(struct code_tree *tree)
{
	array_free(&tree->nodes);
	tree->root = 0;
}
