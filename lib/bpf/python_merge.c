/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges native and Python frames: see python_stacks.h. Each native frame of the evaluation loop stands for the Python
 * frames of one call of it, which are a group: PYTHON_FRAME_BEGINS marks the innermost one. Most interpreters let the
 * BPF program find the native frame of a group; the others are aligned.
 *
 * A greenlet has a part of the C stack, from the module greenlet on, and a chain of Python frames that ends there. What
 * is outside belongs to the greenlets that use that memory at present: it is not what called this one.
 */
#include "bpf/python_code.h"
#include "bpf/python_stacks.h"

#include <string.h>

struct merge {
	struct python_stacks *stacks;
	const struct python_target *target; /* NULL: no interpreter is known */
	uint32_t process;
	uint64_t execution;
	const uint64_t *elements;
	uint32_t depth;
	uint32_t native; /* number of addresses; of a greenlet's stack, those of the greenlet */
	uint32_t first;  /* position of the first Python frame */
	uint64_t *merged;
	uint32_t count;
};

static void push(struct merge *merge, uint64_t element)
{
	if (merge->count < IAPROF_STACK_DEPTH_MAX)
		merge->merged[merge->count++] = element;
}

static void push_named(struct merge *merge, const struct iaprof_named_frame *frame)
{
	const struct iaprof_host *host = merge->stacks->host;
	uint32_t id = host->intern_frame(host, frame);
	if (id)
		push(merge, IAPROF_STACK_NAMED_FRAME | id);
}

static void push_mark(struct merge *merge, const char *name, uint32_t flags)
{
	const struct iaprof_host *host = merge->stacks->host;
	push_named(merge, &(struct iaprof_named_frame){ .size = sizeof(struct iaprof_named_frame),
							.name = host->intern_string(host, name, strlen(name)),
							.kind = IAPROF_FRAME_PYTHON,
							.flags = flags });
}

static void push_unknown(struct merge *merge, const char *name)
{
	push_mark(merge, name, IAPROF_FRAME_UNKNOWN);
}

/* Adds the Python frame at a position of the stack. */
static void push_python(struct merge *merge, uint32_t position)
{
	uint64_t word = merge->elements[position], code = merge->elements[position + 1] & PYTHON_CODE_MASK;
	const struct python_function_key key = { .execution = merge->execution,
						 .code = code,
						 .process = merge->process,
						 .identity = (uint32_t)(word >> PYTHON_FRAME_IDENTITY_SHIFT) &
							     PYTHON_FRAME_IDENTITY_MASK };
	if (code == PYTHON_CODE_UNKNOWN_LAYOUT) {
		push_unknown(merge, "[python: unknown layout]");
		return;
	}
	const struct python_function *function = keyed_array_get(&merge->stacks->functions, &key);
	if (!function) {
		merge->stacks->unnamed++;
		push_unknown(merge, "[python]");
		return;
	}
	uint32_t line = python_line_find(function->line_format, function->lines, function->line_bytes,
					 function->first_line, (int32_t)word);
	push_named(merge, &(struct iaprof_named_frame){ .size = sizeof(struct iaprof_named_frame),
							.name = function->name,
							.file = function->file,
							.line = line,
							.kind = IAPROF_FRAME_PYTHON });
}

static bool is_within(const uint64_t range[2], uint64_t address)
{
	return address >= range[0] && address < range[1];
}

/* All addresses but the leaf are behind a call. */
static uint64_t code_address(const struct merge *merge, uint32_t position)
{
	return merge->elements[position] - (position ? 1 : 0);
}

static bool is_loop(const struct merge *merge, uint32_t position)
{
	const struct python_target *target = merge->target;
	uint64_t address = code_address(merge, position);
	for (size_t i = 0; i < 2; i++)
		if (address >= target->loop[i] && address < target->loop_end[i])
			return true;
	return false;
}

static bool begins_group(const struct merge *merge, uint32_t position)
{
	return merge->elements[position] & PYTHON_FRAME_BEGINS;
}

/* Adds the group at a position. Returns the position of the next one. */
static uint32_t push_group(struct merge *merge, uint32_t position)
{
	do {
		push_python(merge, position);
		position += 2;
	} while (position + 1 < merge->depth && !begins_group(merge, position));
	return position;
}

static uint32_t count_groups(const struct merge *merge)
{
	uint32_t groups = 0;
	for (uint32_t i = merge->first; i + 1 < merge->depth; i += 2)
		groups += begins_group(merge, i);
	return groups;
}

static uint32_t count_loops(const struct merge *merge)
{
	uint32_t loops = 0;
	for (uint32_t i = 0; i < merge->native; i++)
		loops += is_loop(merge, i);
	return loops;
}

/*
 * Reduces the native frames to those of the greenlet that runs. Returns whether there are others: its outermost frames
 * are in the module greenlet, which also has the innermost ones of a greenlet that switches to another one.
 */
static bool limit_to_greenlet(struct merge *merge)
{
	const uint64_t *greenlet = merge->target->greenlet;
	bool has_loop = false;
	for (uint32_t i = 0; i < merge->native; i++) {
		has_loop |= is_loop(merge, i);
		if (!has_loop || !is_within(greenlet, code_address(merge, i)))
			continue;
		while (i < merge->native && is_within(greenlet, code_address(merge, i)))
			i++;
		merge->native = i;
		return true;
	}
	return false;
}

/* Returns the position of the native frame of a group; merge->native if it is not known. */
static uint32_t call_of_group(const struct merge *merge, uint32_t group)
{
	uint64_t call = merge->elements[group + 1] >> PYTHON_CALL_SHIFT;
	return call && call <= merge->native && is_loop(merge, (uint32_t)call - 1) ? (uint32_t)call - 1 : merge->native;
}

static uint32_t next_group(const struct merge *merge, uint32_t position)
{
	do
		position += 2;
	while (position + 1 < merge->depth && !begins_group(merge, position));
	return position;
}

/*
 * Sets groups[n] to the position of the group of native frame n, as far as it has one. Returns the first group without
 * a native frame. Several interpreters have groups in any order.
 */
static uint32_t pair_by_calls(const struct merge *merge, uint16_t *groups)
{
	uint32_t group = merge->first;
	for (uint32_t call = 0; group + 1 < merge->depth; group = next_group(merge, group)) {
		call = call_of_group(merge, group);
		if (call == merge->native)
			break;
		groups[call] = (uint16_t)group;
	}
	return group;
}

/*
 * Continues with groups in the order of calls. The innermost calls of the loop can have no group yet: they have just
 * begun, or are about to return. Native stacks that end early are aligned at the leaf, others at the root.
 */
static uint32_t pair_in_order(const struct merge *merge, uint16_t *groups, uint32_t group, bool is_complete)
{
	bool is_truncated = merge->elements[merge->first] & PYTHON_FRAME_TRUNCATED;
	uint32_t all = count_groups(merge), loops = count_loops(merge), begin = 0;
	uint32_t without = group == merge->first && loops > all && is_complete && !is_truncated ? loops - all : 0;
	for (uint32_t i = 0; i < merge->native; i++)
		if (groups[i])
			begin = i + 1;
	for (uint32_t i = begin; i < merge->native && group + 1 < merge->depth; i++) {
		if (!is_loop(merge, i) || (without && without--))
			continue;
		groups[i] = (uint16_t)group;
		group = next_group(merge, group);
	}
	return group;
}

/* Frames of the interpreter between two functions of Python are not shown. */
static void merge_mixed(struct merge *merge, bool is_complete)
{
	uint16_t groups[STACK_DEPTH_MAX] = { 0 };
	bool has_python = false;
	uint32_t next = pair_in_order(merge, groups, pair_by_calls(merge, groups), is_complete);
	for (uint32_t i = 0; i < merge->native; i++) {
		bool is_outermost = i + 1 == merge->native;
		if (groups[i]) {
			push_group(merge, groups[i]);
			has_python = true;
		} else if (!has_python || is_outermost || !is_within(merge->target->image, code_address(merge, i))) {
			push(merge, merge->elements[i]);
		}
	}
	while (!is_complete && next + 1 < merge->depth)
		next = push_group(merge, next);
}

/* Marks each call of the loop of an interpreter whose structures are not known. */
static void merge_unknown(struct merge *merge)
{
	for (uint32_t i = 0; i < merge->native; i++)
		if (is_loop(merge, i))
			push_unknown(merge, "[python: unknown layout]");
		else
			push(merge, merge->elements[i]);
}

uint32_t python_stacks_merge(struct python_stacks *stacks, uint32_t process, uint64_t execution, uint32_t *flags,
			     const uint64_t *elements, uint32_t depth, uint64_t *merged)
{
	struct merge merge = { .stacks = stacks,
			       .target = keyed_array_get(&stacks->targets, &process),
			       .process = process,
			       .execution = execution,
			       .elements = elements,
			       .depth = depth,
			       .merged = merged };
	while (merge.native < depth && !(elements[merge.native] & PYTHON_FRAME))
		merge.native++;
	merge.first = merge.native;
	bool has_python = merge.native + 1 < depth;
	if (merge.target && !execution)
		merge.execution = merge.target->execution;
	else if (merge.target && merge.target->execution != execution)
		merge.target = NULL;
	if (merge.target && !has_python && !(merge.target->flags & IAPROF_PYTHON_UNKNOWN_LAYOUT) && count_loops(&merge))
		stacks->without++;
	/* Also of stacks without functions of Python: those of a thread are not read before its process is known. */
	bool is_greenlet = merge.target && limit_to_greenlet(&merge);
	if (is_greenlet)
		*flags &= ~(uint32_t)STACK_ENDS_EARLY;
	if (merge.target && stacks->choice == PYTHON_MIXED && merge.target->flags & IAPROF_PYTHON_UNKNOWN_LAYOUT) {
		merge_unknown(&merge);
	} else if (has_python && merge.target && stacks->choice == PYTHON_MIXED) {
		merge_mixed(&merge, !(*flags & STACK_ENDS_EARLY));
	} else {
		for (uint32_t i = 0; i < merge.native && (!has_python || stacks->choice != PYTHON_ONLY); i++)
			push(&merge, elements[i]);
		for (uint32_t i = merge.first; i + 1 < depth && stacks->choice == PYTHON_ONLY; i += 2)
			push_python(&merge, i);
	}
	if (is_greenlet)
		push_mark(&merge, "[other greenlet]", 0);
	return merge.count;
}

uint32_t python_stacks_intern(struct python_stacks *stacks, uint32_t process, uint64_t execution, uint32_t *flags,
			      const uint64_t *elements, uint32_t depth)
{
	uint64_t merged[IAPROF_STACK_DEPTH_MAX];
	const struct iaprof_host *host = stacks->host;
	pthread_mutex_lock(&stacks->lock);
	uint32_t count = python_stacks_merge(stacks, process, execution, flags, elements, depth, merged);
	pthread_mutex_unlock(&stacks->lock);
	return host->intern_stack(host, process, merged, count);
}
