/* SPDX-License-Identifier: Apache-2.0 */
/* See sampled_time.h. */
#include "profile/sampled_time.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/keyed_hash.h"
#include "base/saturating.h"

/* Times after the division; with more, those of kernels stay undivided. */
#define TIMES_MAX (UINT32_C(1) << 20)

/* The samples of a stack, among which time is divided. */
struct sampled_stack {
	uint64_t group; /* group_number() */
	uint32_t stack;
	uint64_t before, samples; /* of the group's earlier stacks, and of this one */
	uint64_t value, count;    /* time and executions that it received */
};

struct division {
	const struct iaprof_profile *profile;
	uint64_t *groups;                   /* by stack: group_of(); 0: not computed yet */
	ARRAY(struct sampled_stack) stacks; /* by group */
	ARRAY(struct iaprof_value) values;
	ARRAY(struct iaprof_time_value) times;
	bool failed;
};

/* Identifies a launch stack and a kernel: frames up to the kernel, without its source file and marks. */
static uint64_t group_of(const struct iaprof_profile *profile, uint32_t index)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, index);
	struct {
		uint64_t above, thread, device, tid;
		struct iaprof_span span;
	} key = { .thread = (uintptr_t)stack->origin.thread,
		  .device = (uintptr_t)stack->origin.device,
		  .tid = stack->origin.tid,
		  .span = stack->span };
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, stack->frames[i]);
		bool is_kernel = frame->kind == IAPROF_FRAME_DEVICE_FUNCTION;
		if (frame->kind == IAPROF_FRAME_SEPARATOR || frame->kind == IAPROF_FRAME_DEVICE_SOURCE)
			continue;
		const uint64_t words[] = { key.above, is_kernel ? hash_bytes(frame->name, strlen(frame->name))
								: stack->frames[i] };
		key.above = hash_bytes(words, sizeof words);
		if (is_kernel)
			break;
	}
	return hash_bytes(&key, sizeof key);
}

static uint64_t group_number(const struct division *division, uint32_t stack)
{
	if (!division->groups[stack])
		division->groups[stack] = group_of(division->profile, stack);
	return division->groups[stack];
}

static uint32_t role_of(const struct iaprof_profile *profile, uint32_t value_type)
{
	return iaprof_profile_value_type(profile, value_type)->role;
}

static int compare_stacks(const void *left, const void *right)
{
	const struct sampled_stack *a = left, *b = right;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

static void find_samples(struct division *division)
{
	const struct iaprof_profile *profile = division->profile;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		struct sampled_stack added = { .stack = value->stack, .samples = value->value };
		if (role_of(profile, value->value_type) != IAPROF_VALUE_DEVICE_SAMPLES || !value->value)
			continue;
		added.group = group_number(division, value->stack);
		division->failed |= !array_push(&division->stacks, added);
	}
	if (division->stacks.count)
		qsort(division->stacks.items, division->stacks.count, sizeof *division->stacks.items, compare_stacks);
	for (size_t i = 1; i < division->stacks.count; i++) {
		struct sampled_stack *stack = &division->stacks.items[i];
		if (stack[-1].group == stack->group)
			stack->before = saturating_add(stack[-1].before, stack[-1].samples);
	}
}

/* The sampled stacks of a group. */
struct group {
	size_t first, end;
	uint64_t samples;
};

static struct group find_group(const struct division *division, uint32_t stack)
{
	const struct sampled_stack *stacks = division->stacks.items;
	uint64_t number = group_number(division, stack);
	struct group group = { .first = array_lower_bound(division->stacks.count, i, stacks[i].group < number) };
	for (group.end = group.first; group.end < division->stacks.count && stacks[group.end].group == number;)
		group.end++;
	if (group.first < group.end)
		group.samples = saturating_add(stacks[group.end - 1].before, stacks[group.end - 1].samples);
	return group;
}

/* Returns the part of a value that belongs to a stack of the group: the parts of all add up to it. */
static uint64_t part_of(const struct sampled_stack *stack, const struct group *group, uint64_t value)
{
	__uint128_t whole = value, end = saturating_add(stack->before, stack->samples);
	return (uint64_t)(whole * end / group->samples) - (uint64_t)(whole * stack->before / group->samples);
}

static void add_value(struct division *division, const struct iaprof_value *value)
{
	division->failed |= !array_push(&division->values, *value);
}

/* Divides the values of a type, in the order of stacks. */
static void divide_values(struct division *division, uint32_t value_type)
{
	const struct iaprof_profile *profile = division->profile;
	struct sampled_stack *stacks = division->stacks.items;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		struct group group = { 0 };
		if (value->value_type != value_type)
			continue;
		if (role_of(profile, value_type) == IAPROF_VALUE_DEVICE_TIME)
			group = find_group(division, value->stack);
		if (!group.samples)
			add_value(division, value);
		for (size_t k = group.first; group.samples && k < group.end; k++) {
			stacks[k].value = saturating_add(stacks[k].value, part_of(&stacks[k], &group, value->value));
			stacks[k].count = saturating_add(stacks[k].count, part_of(&stacks[k], &group, value->count));
		}
	}
	for (size_t i = 0; i < division->stacks.count; i++) {
		struct sampled_stack *stack = &stacks[i];
		if (stack->value || stack->count)
			add_value(division, &(struct iaprof_value){ .stack = stack->stack,
								    .value_type = value_type,
								    .value = stack->value,
								    .count = stack->count });
		stack->value = stack->count = 0;
	}
}

static int compare_times(const void *left, const void *right)
{
	const struct iaprof_time_value *a = left, *b = right;
	if (a->value_type != b->value_type)
		return a->value_type < b->value_type ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

/* Adds up what is of one time, stack and value type. */
static void merge_times(struct division *division)
{
	struct iaprof_time_value *times = division->times.items;
	size_t kept = 0;
	if (division->times.count)
		qsort(times, division->times.count, sizeof *times, compare_times);
	for (size_t i = 0; i < division->times.count; i++)
		if (kept && !compare_times(&times[kept - 1], &times[i]))
			times[kept - 1].value = saturating_add(times[kept - 1].value, times[i].value);
		else
			times[kept++] = times[i];
	division->times.count = kept;
}

/* Divides each time slot in the proportions of the whole profile. Returns false if there would be too many times. */
static bool divide_times(struct division *division)
{
	const struct iaprof_profile *profile = division->profile;
	for (size_t i = 0; i < profile->time_count; i++) {
		struct iaprof_time_value part = *iaprof_profile_time(profile, i);
		uint64_t value = part.value;
		struct group group = { 0 };
		if (role_of(profile, part.value_type) == IAPROF_VALUE_DEVICE_TIME && part.stack != UINT32_MAX)
			group = find_group(division, part.stack);
		if (division->times.count + (group.end - group.first) >= TIMES_MAX)
			return false;
		if (!group.samples)
			division->failed |= !array_push(&division->times, part);
		for (size_t k = group.first; group.samples && k < group.end; k++) {
			part.stack = division->stacks.items[k].stack;
			part.value = part_of(&division->stacks.items[k], &group, value);
			division->failed |= part.value && !array_push(&division->times, part);
		}
	}
	merge_times(division);
	return !division->failed;
}

static bool has_time(const struct iaprof_profile *profile)
{
	for (uint32_t i = 0; i < profile->value_type_count; i++)
		if (role_of(profile, i) == IAPROF_VALUE_DEVICE_TIME)
			return true;
	return false;
}

void sampled_time_divide(struct iaprof_profile *profile, struct snapshot_memory *memory)
{
	struct division division = { .profile = profile };
	if (memory->failed || !has_time(profile))
		return;
	division.groups = calloc(profile->stack_count + 1, sizeof *division.groups);
	if (!division.groups) {
		memory->failed = true;
		return;
	}
	find_samples(&division);
	bool has_times = profile->time_count && division.stacks.count && divide_times(&division);
	for (uint32_t type = 0; type < profile->value_type_count; type++)
		divide_values(&division, type);
	profile->values = snapshot_copy(memory, division.values.items, division.values.count, profile->value_size);
	profile->value_count = division.values.count;
	if (has_times) {
		profile->times = snapshot_copy(memory, division.times.items, division.times.count, profile->time_size);
		profile->time_count = division.times.count;
	}
	memory->failed |= division.failed;
	free(division.groups);
	array_free(&division.stacks);
	array_free(&division.values);
	array_free(&division.times);
}
