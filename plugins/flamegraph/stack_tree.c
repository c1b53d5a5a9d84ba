/* SPDX-License-Identifier: Apache-2.0 */
/* See stack_tree.h. */
#include "stack_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An open-addressed table of 1 + index, 0: free; its size is a power of 2 and it is at most half full. */
struct slots {
	uint32_t *items;
	size_t size;
	size_t used;
};

static uint64_t hash_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash_mix(hash, 0);
}

/* Doubles the table when it is half full; hash_of gives the hash of an index. */
static bool slots_make_room(struct slots *slots, uint64_t (*hash_of)(const void *context, uint32_t index),
			    const void *context)
{
	if (2 * (slots->used + 1) <= slots->size)
		return true;
	size_t size = slots->size ? 2 * slots->size : 1024;
	uint32_t *items = calloc(size, sizeof *items);
	if (!items)
		return false;
	for (size_t i = 0; i < slots->size; i++) {
		if (!slots->items[i])
			continue;
		size_t at = hash_of(context, slots->items[i] - 1) & (size - 1);
		while (items[at])
			at = (at + 1) & (size - 1);
		items[at] = slots->items[i];
	}
	free(slots->items);
	slots->items = items;
	slots->size = size;
	return true;
}

static uint64_t frame_hash(const void *context, uint32_t index)
{
	const struct iaprof_frame *frame = ((const struct iaprof_frame *const *)context)[index];
	uint64_t hash = hash_mix(frame->kind, (uint64_t)frame->flags << 32 | frame->line);
	hash = hash_mix(hash, frame->pid);
	return hash_text(hash_text(hash_text(hash, frame->name), frame->module), frame->file);
}

static bool texts_are_equal(const char *left, const char *right)
{
	return left == right || (left && right && strcmp(left, right) == 0);
}

static bool frames_are_equal(const struct iaprof_frame *left, const struct iaprof_frame *right)
{
	return left->kind == right->kind && left->flags == right->flags && left->line == right->line &&
	       left->pid == right->pid && texts_are_equal(left->name, right->name) &&
	       texts_are_equal(left->module, right->module) && texts_are_equal(left->file, right->file);
}

/* Numbers the frames that differ: STACK_TREE_NONE for one that is hidden. False when out of memory. */
static bool frames_number(struct stack_tree *tree, const struct stack_text_options *options, uint32_t *numbers)
{
	const struct iaprof_profile *profile = tree->profile;
	struct slots slots = { 0 };
	bool good = true;
	for (uint32_t id = 0; good && id < profile->frame_count; id++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, id);
		numbers[id] = STACK_TREE_NONE;
		if (stack_text_frame_is_hidden(frame, options))
			continue;
		good = slots_make_room(&slots, frame_hash, tree->frames);
		if (!good)
			break;
		tree->frames[tree->frame_count] = frame;
		size_t at = frame_hash(tree->frames, (uint32_t)tree->frame_count) & (slots.size - 1);
		while (slots.items[at] && !frames_are_equal(tree->frames[slots.items[at] - 1], frame))
			at = (at + 1) & (slots.size - 1);
		if (!slots.items[at]) {
			slots.items[at] = (uint32_t)++tree->frame_count;
			slots.used++;
		}
		numbers[id] = slots.items[at] - 1;
	}
	free(slots.items);
	return good;
}

static uint64_t node_hash(const void *context, uint32_t index)
{
	const struct stack_node *node = (const struct stack_node *)context + index;
	return hash_mix(hash_mix(1, node->parent), node->frame);
}

struct building {
	struct stack_tree *tree;
	struct slots slots;
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
	struct slots *slots = &building->slots;
	if (!nodes_make_room(building) || !slots_make_room(slots, node_hash, tree->nodes))
		return STACK_TREE_NONE;
	struct stack_node wanted = { .parent = parent, .frame = frame };
	size_t at = node_hash(&wanted, 0) & (slots->size - 1);
	for (; slots->items[at]; at = (at + 1) & (slots->size - 1)) {
		const struct stack_node *node = &tree->nodes[slots->items[at] - 1];
		if (node->parent == parent && node->frame == frame)
			return slots->items[at] - 1;
	}
	tree->nodes[tree->node_count] = wanted;
	slots->items[at] = (uint32_t)++tree->node_count;
	slots->used++;
	return slots->items[at] - 1;
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
	free(building.slots.items);
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
