/* SPDX-License-Identifier: Apache-2.0 */
/* See stack_tree.h. */
#include "stack_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/item_index.h"

static uint64_t hash_of_frame(const struct iaprof_frame *frame)
{
	uint64_t hash = item_hash(frame->kind, (uint64_t)frame->flags << 32 | frame->line);
	hash = item_hash_text(item_hash(hash, frame->pid), frame->name);
	return item_hash_text(item_hash_text(hash, frame->module), frame->file);
}

static uint64_t frame_hash(const void *context, uint32_t position)
{
	return hash_of_frame(((const struct stack_tree *)context)->frames[position]);
}

static bool texts_are_equal(const char *left, const char *right)
{
	return left == right || (left && right && strcmp(left, right) == 0);
}

static bool frame_is_equal(const void *context, uint32_t position, const void *wanted)
{
	const struct iaprof_frame *left = ((const struct stack_tree *)context)->frames[position], *right = wanted;
	return left->kind == right->kind && left->flags == right->flags && left->line == right->line &&
	       left->pid == right->pid && texts_are_equal(left->name, right->name) &&
	       texts_are_equal(left->module, right->module) && texts_are_equal(left->file, right->file);
}

/* Numbers the frames that differ: STACK_TREE_NONE for one that is hidden. False when out of memory. */
static bool frames_number(struct stack_tree *tree, const struct stack_text_options *options, uint32_t *numbers)
{
	const struct iaprof_profile *profile = tree->profile;
	const struct item_owner owner = { .hash = frame_hash, .is_equal = frame_is_equal, .context = tree };
	struct item_index index = { 0 };
	bool good = true;
	for (uint32_t id = 0; good && id < profile->frame_count; id++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, id);
		numbers[id] = STACK_TREE_NONE;
		if (stack_text_frame_is_hidden(frame, options))
			continue;
		uint32_t *slot = item_index_find(&index, &owner, hash_of_frame(frame), frame);
		good = slot != NULL;
		if (slot && !*slot) {
			tree->frames[tree->frame_count] = frame;
			*slot = (uint32_t)++tree->frame_count;
			index.used++;
		}
		if (slot)
			numbers[id] = *slot - 1;
	}
	free(index.items);
	return good;
}

static uint64_t hash_of_node(const struct stack_node *node)
{
	return item_hash(item_hash(1, node->parent), node->frame);
}

static uint64_t node_hash(const void *context, uint32_t position)
{
	return hash_of_node(&((const struct stack_tree *)context)->nodes[position]);
}

static bool node_is_equal(const void *context, uint32_t position, const void *wanted)
{
	const struct stack_node *left = &((const struct stack_tree *)context)->nodes[position], *right = wanted;
	return left->parent == right->parent && left->frame == right->frame;
}

struct building {
	struct stack_tree *tree;
	struct item_index index;
	size_t capacity;
};

static bool nodes_make_room(struct building *building)
{
	struct stack_tree *tree = building->tree;
	size_t types = tree->profile->value_type_count;
	if (tree->node_count < building->capacity)
		return true;
	if (building->capacity >= STACK_TREE_NONE / 2)
		return false;
	size_t capacity = building->capacity ? 2 * building->capacity : 1024;
	struct stack_node *nodes = reallocarray(tree->nodes, capacity, sizeof *nodes);
	if (!nodes)
		return false;
	tree->nodes = nodes;
	uint64_t *values = reallocarray(tree->values, capacity, types * sizeof *values);
	if (!values)
		return false;
	tree->values = values;
	memset(values + building->capacity * types, 0, (capacity - building->capacity) * types * sizeof *values);
	building->capacity = capacity;
	return true;
}

/* The node of a frame below a parent; STACK_TREE_NONE: out of memory. */
static uint32_t node_get(struct building *building, uint32_t parent, uint32_t frame)
{
	struct stack_tree *tree = building->tree;
	const struct item_owner owner = { .hash = node_hash, .is_equal = node_is_equal, .context = tree };
	const struct stack_node wanted = { .parent = parent, .frame = frame };
	uint32_t *slot = nodes_make_room(building)
				 ? item_index_find(&building->index, &owner, hash_of_node(&wanted), &wanted)
				 : NULL;
	if (!slot)
		return STACK_TREE_NONE;
	if (!*slot) {
		tree->nodes[tree->node_count] = wanted;
		*slot = (uint32_t)++tree->node_count;
		building->index.used++;
	}
	return *slot - 1;
}

static bool value_add(struct building *building, const struct iaprof_value *value, const uint32_t *numbers)
{
	const struct iaprof_profile *profile = building->tree->profile;
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
	uint32_t node = STACK_TREE_NONE;
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		uint32_t frame = numbers[stack->frames[i]];
		if (frame == STACK_TREE_NONE)
			continue;
		node = node_get(building, node, frame);
		if (node == STACK_TREE_NONE)
			return false;
	}
	if (node == STACK_TREE_NONE) /* the program is never hidden */
		return true;
	uint64_t *sum = &building->tree->values[node * profile->value_type_count + value->value_type];
	*sum = *sum > UINT64_MAX - value->value ? UINT64_MAX : *sum + value->value;
	return true;
}

static int frames_compare(const struct iaprof_frame *left, const struct iaprof_frame *right)
{
	int order = strcmp(left->name, right->name);
	if (order == 0 && left->module && right->module)
		order = strcmp(left->module, right->module);
	return order ? order : (left->line > right->line) - (left->line < right->line);
}

struct ranked {
	const struct stack_tree *tree;
	const uint32_t *ranks; /* of frames */
};

static int by_name(const void *left, const void *right, void *context)
{
	const struct stack_tree *tree = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	int order = frames_compare(tree->frames[a], tree->frames[b]);
	return order ? order : (a > b) - (a < b);
}

/* By parent, those of one parent by name. */
static int by_place(const void *left, const void *right, void *context)
{
	const struct ranked *ranked = context;
	const struct stack_node *a = &ranked->tree->nodes[*(const uint32_t *)left];
	const struct stack_node *b = &ranked->tree->nodes[*(const uint32_t *)right];
	/* A root's parent is the largest number: + 1 makes it the smallest. */
	uint32_t above_a = a->parent + 1, above_b = b->parent + 1;
	if (above_a != above_b)
		return (above_a > above_b) - (above_a < above_b);
	return (ranked->ranks[a->frame] > ranked->ranks[b->frame]) -
	       (ranked->ranks[a->frame] < ranked->ranks[b->frame]);
}

/* The rank of each frame by name. NULL: out of memory. */
static uint32_t *ranks_make(const struct stack_tree *tree)
{
	uint32_t *sorted = calloc(tree->frame_count + 1, sizeof *sorted);
	uint32_t *ranks = calloc(tree->frame_count + 1, sizeof *ranks);
	if (sorted && ranks) {
		for (uint32_t i = 0; i < tree->frame_count; i++)
			sorted[i] = i;
		qsort_r(sorted, tree->frame_count, sizeof *sorted, by_name, (void *)(uintptr_t)tree);
		for (uint32_t i = 0; i < tree->frame_count; i++)
			ranks[sorted[i]] = i;
	} else {
		free(ranks);
		ranks = NULL;
	}
	free(sorted);
	return ranks;
}

/* From children by parent to the order from the top: each node's children follow it. */
static bool order_make(struct stack_tree *tree)
{
	size_t count = tree->node_count;
	uint32_t *ranks = ranks_make(tree);
	uint32_t *placed = calloc(count + 1, sizeof *placed);
	uint32_t *first = calloc(count + 2, sizeof *first); /* of each parent's children in placed; 0 the roots' */
	uint32_t *waiting = calloc(count + 1, sizeof *waiting);
	bool good = ranks && placed && first && waiting;
	if (good) {
		for (uint32_t i = 0; i < count; i++) {
			placed[i] = i;
			first[tree->nodes[i].parent + 2]++; /* wraps to 1 for a root */
		}
		for (size_t i = 1; i <= count + 1; i++)
			first[i] += first[i - 1];
		qsort_r(placed, count, sizeof *placed, by_place, &(struct ranked){ .tree = tree, .ranks = ranks });
		size_t left = 0, done = 0;
		for (uint32_t i = first[1]; i-- > first[0];)
			waiting[left++] = placed[i];
		while (left) {
			uint32_t node = waiting[--left];
			tree->order[done++] = node;
			for (uint32_t i = first[node + 2]; i-- > first[node + 1];)
				waiting[left++] = placed[i];
		}
	}
	free(waiting);
	free(first);
	free(placed);
	free(ranks);
	return good;
}

int stack_tree_make(struct stack_tree *tree, const struct iaprof_profile *profile,
		    const struct stack_text_options *options)
{
	*tree = (struct stack_tree){ .profile = profile };
	struct building building = { .tree = tree };
	uint32_t *numbers = calloc(profile->frame_count + 1, sizeof *numbers);
	tree->frames = calloc(profile->frame_count + 1, sizeof *tree->frames);
	bool good = numbers && tree->frames && frames_number(tree, options, numbers);
	for (size_t i = 0; good && i < profile->value_count; i++)
		good = value_add(&building, iaprof_profile_value(profile, i), numbers);
	free(building.index.items);
	free(numbers);
	if (good) {
		tree->order = calloc(tree->node_count + 1, sizeof *tree->order);
		good = tree->order && order_make(tree);
	}
	return good ? 0 : -ENOMEM;
}

void stack_tree_free(struct stack_tree *tree)
{
	free(tree->frames);
	free(tree->nodes);
	free(tree->values);
	free(tree->order);
	*tree = (struct stack_tree){ 0 };
}
