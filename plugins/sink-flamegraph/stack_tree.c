/* SPDX-License-Identifier: Apache-2.0 */
/* See stack_tree.h. */
#include "stack_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/item_index.h"
#include "base/saturating.h"

struct building {
	struct stack_tree *tree;
	struct item_index index;
	size_t capacity;
	/* The last stack added, and the node of each of its frames: the next stack usually shares its first frames. */
	const struct iaprof_stack *last;
	uint32_t last_stack; /* its index */
	ARRAY(uint32_t) last_nodes;
};

static uint64_t hash_of_node(const struct hash_key *key, const struct stack_node *node)
{
	return hash_word(key, (uint64_t)node->parent << 32 | node->frame);
}

static bool node_is_equal(const void *context, uint32_t position, const void *wanted)
{
	const struct building *building = context;
	const struct stack_node *left = &building->tree->nodes[position], *right = wanted;
	return left->parent == right->parent && left->frame == right->frame;
}

static bool values_grow(uint64_t **values, size_t nodes, size_t capacity, size_t types)
{
	uint64_t *grown = reallocarray(*values, capacity, types * sizeof *grown);
	if (!grown)
		return false;
	*values = grown;
	memset(grown + nodes * types, 0, (capacity - nodes) * types * sizeof *grown);
	return true;
}

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
	bool is_difference = tree->profile->flags & IAPROF_PROFILE_DIFFERENCE;
	if (!values_grow(&tree->values, building->capacity, capacity, types) ||
	    (is_difference && !values_grow(&tree->before, building->capacity, capacity, types)))
		return false;
	building->capacity = capacity;
	return true;
}

/* Returns the node of a frame below a parent; STACK_TREE_NONE: out of memory. */
static uint32_t node_get(struct building *building, uint32_t parent, uint32_t frame)
{
	struct stack_tree *tree = building->tree;
	const struct item_owner owner = { .is_equal = node_is_equal, .context = building };
	const struct stack_node wanted = { .parent = parent, .frame = frame };
	uint32_t *slot = nodes_make_room(building)
				 ? item_index_find(&building->index, &owner,
						   hash_of_node(item_index_key(&building->index), &wanted), &wanted)
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

/* Returns the number of leading frames that two stacks share. */
static uint32_t frames_in_common(const struct iaprof_stack *left, const struct iaprof_stack *right)
{
	uint32_t count = 0;
	while (left && count < left->frame_count && count < right->frame_count &&
	       left->frames[count] == right->frames[count])
		count++;
	return count;
}

/* Returns the node of a stack's thread, device and span below another one. STACK_TREE_NONE: out of memory. */
static uint32_t origin_node(struct building *building, uint32_t parent, uint32_t stack)
{
	const struct stack_origins *origins = &building->tree->origins;
	const uint32_t frames[] = { origins->threads[stack], origins->devices[stack], origins->spans[stack] };
	uint32_t node = parent;
	for (size_t i = 0; i < sizeof frames / sizeof *frames && node != STACK_TREE_NONE; i++)
		if (frames[i] != STACK_ORIGIN_NONE)
			node = node_get(building, node, frames[i]);
	return node;
}

static bool has_same_origin(const struct building *building, uint32_t stack)
{
	const struct stack_origins *origins = &building->tree->origins;
	return origins->threads[stack] == origins->threads[building->last_stack] &&
	       origins->devices[stack] == origins->devices[building->last_stack];
}

/* Returns the frame of idle time of a device, which is a stack's last one and the root of its nodes; else UINT32_MAX.
 */
static uint32_t idle_frame(const struct building *building, const struct iaprof_value *value)
{
	const struct iaprof_profile *profile = building->tree->profile;
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
	uint32_t last = stack->frame_count ? stack->frames[stack->frame_count - 1] : UINT32_MAX;
	bool is_idle = iaprof_profile_value_type(profile, value->value_type)->role == IAPROF_VALUE_DEVICE_IDLE &&
		       last != UINT32_MAX && iaprof_profile_frame(profile, last)->kind == IAPROF_FRAME_WAIT;
	return is_idle ? building->tree->frames.numbers[last] : UINT32_MAX;
}

static bool value_add(struct building *building, const struct iaprof_value *value)
{
	const struct iaprof_profile *profile = building->tree->profile;
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
	uint32_t idle = idle_frame(building, value), count = stack->frame_count - (idle != UINT32_MAX);
	uint32_t same = idle == UINT32_MAX ? frames_in_common(building->last, stack) : 0;
	if (!array_reserve(&building->last_nodes, stack->frame_count))
		return false;
	if (same && !building->tree->has_leaf_origins && !has_same_origin(building, value->stack))
		same = 0;
	uint32_t node = same ? building->last_nodes.items[same - 1] : STACK_TREE_NONE;
	if (idle != UINT32_MAX && (node = node_get(building, STACK_TREE_NONE, idle)) == STACK_TREE_NONE)
		return false;
	for (uint32_t i = same; i < count; i++) {
		uint32_t frame = building->tree->frames.numbers[stack->frames[i]];
		if (frame != FRAME_IS_HIDDEN) {
			node = node_get(building, node, frame);
			if (!i && node != STACK_TREE_NONE && !building->tree->has_leaf_origins)
				node = origin_node(building, node, value->stack);
			if (node == STACK_TREE_NONE)
				return false;
		}
		building->last_nodes.items[i] = node;
	}
	building->last = idle == UINT32_MAX ? stack : NULL;
	building->last_stack = value->stack;
	if (node == STACK_TREE_NONE) /* the program is never hidden */
		return true;
	if (building->tree->has_leaf_origins)
		node = origin_node(building, node, value->stack);
	if (node == STACK_TREE_NONE)
		return false;
	building->tree->leaves[value->stack] = node;
	size_t place = node * profile->value_type_count + value->value_type;
	saturating_increase(&building->tree->values[place], value->value);
	if (building->tree->before)
		saturating_increase(&building->tree->before[place], value->before);
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
	const uint32_t *ranks; /* ranks of frames */
};

static int by_name(const void *left, const void *right, void *context)
{
	const struct stack_tree *tree = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	int order = frames_compare(tree->frames.items[a], tree->frames.items[b]);
	return order ? order : (a > b) - (a < b);
}

/* Orders nodes by parent, then by name. */
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

/* Returns the rank of each frame by name; NULL when out of memory. */
static uint32_t *ranks_make(const struct stack_tree *tree)
{
	uint32_t *sorted = calloc(tree->frames.count + 1, sizeof *sorted);
	uint32_t *ranks = calloc(tree->frames.count + 1, sizeof *ranks);
	if (sorted && ranks) {
		for (uint32_t i = 0; i < tree->frames.count; i++)
			sorted[i] = i;
		qsort_r(sorted, tree->frames.count, sizeof *sorted, by_name, (void *)(uintptr_t)tree);
		for (uint32_t i = 0; i < tree->frames.count; i++)
			ranks[sorted[i]] = i;
	} else {
		free(ranks);
		ranks = NULL;
	}
	free(sorted);
	return ranks;
}

/* Converts children sorted by parent to the order from the root: each node's children follow it. */
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
		    const struct stack_text_options *options, bool has_leaf_origins)
{
	uint64_t threads = has_leaf_origins ? STACK_TEXT_THREADS_YES : options->threads;
	*tree = (struct stack_tree){ .profile = profile, .has_leaf_origins = has_leaf_origins };
	struct building building = { .tree = tree };
	tree->leaves = calloc(profile->stack_count + 1, sizeof *tree->leaves);
	bool good = different_frames_make(&tree->frames, profile, options) && tree->leaves &&
		    stack_origins_make(&tree->origins, &tree->frames, profile, threads, has_leaf_origins,
				       has_leaf_origins && options->spans);
	for (size_t i = 0; good && i < profile->stack_count; i++)
		tree->leaves[i] = STACK_TREE_NONE;
	for (size_t i = 0; good && i < profile->value_count; i++)
		good = value_add(&building, iaprof_profile_value(profile, i));
	free(building.index.slots);
	array_free(&building.last_nodes);
	if (good) {
		tree->order = calloc(tree->node_count + 1, sizeof *tree->order);
		good = tree->order && order_make(tree);
	}
	return good ? 0 : -ENOMEM;
}

void stack_tree_free(struct stack_tree *tree)
{
	different_frames_free(&tree->frames);
	stack_origins_free(&tree->origins);
	free(tree->nodes);
	free(tree->values);
	free(tree->before);
	free(tree->order);
	free(tree->leaves);
	*tree = (struct stack_tree){ 0 };
}
