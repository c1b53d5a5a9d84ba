/* SPDX-License-Identifier: Apache-2.0 */
/* Joins two profiles: see difference.h. */
#include "profile/difference.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/keyed_array.h"

struct difference {
	struct frame_table frames; /* owns the names of the snapshot */
	uint32_t *before_stacks, *after_stacks;
	struct snapshot *snapshot;
};

/* A value, found by its first two members. */
union joined_value {
	struct {
		uint32_t stack, value_type;
	} key;
	struct iaprof_value value;
};

/* The parts of the joined profile, until they are copied into the snapshot. */
struct joining {
	const struct difference_input *input;
	struct frame_table *frames;
	ARRAY(struct iaprof_value_type) value_types;
	KEYED_ARRAY(union joined_value) values;
	ARRAY(struct iaprof_lost) lost;
};

static void joining_free(struct joining *joining)
{
	array_free(&joining->value_types);
	keyed_array_free(&joining->values);
	array_free(&joining->lost);
}

/* Returns the index of a value type in the difference, adding it if it is new; UINT32_MAX: out of memory. */
static uint32_t join_value_type(struct joining *joining, const struct iaprof_value_type *type)
{
	for (uint32_t i = 0; i < joining->value_types.count; i++) {
		const struct iaprof_value_type *known = &joining->value_types.items[i];
		if (!strcmp(known->name, type->name) && !strcmp(known->unit, type->unit))
			return i;
	}
	struct iaprof_value_type added = {
		.name = type->name, .unit = type->unit, .period = type->period, .before_factor = 1
	};
	return array_push(&joining->value_types, added) ? (uint32_t)joining->value_types.count - 1 : UINT32_MAX;
}

static const char *last_part(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	return slash && slash[1] ? slash + 1 : path;
}

/* Adds a frame without the members that differ between equal frames of two runs. */
static uint32_t join_frame(struct joining *joining, const struct iaprof_frame *frame)
{
	bool is_instruction = frame->kind == IAPROF_FRAME_DEVICE_INSTRUCTION;
	bool has_line = joining->input->lines || (joining->input->device_lines && is_instruction);
	struct iaprof_frame seen = { .name = frame->name,
				     .module = last_part(frame->module),
				     .file = last_part(frame->file),
				     .line = has_line ? frame->line : 0,
				     .kind = frame->kind,
				     .flags = frame->flags };
	return frame_table_add(joining->frames, &seen);
}

/*
 * Returns the index of a stack in the difference; FRAME_NONE: out of memory. frames: indexes in the difference by frame
 * of the profile, FRAME_NONE: not added yet.
 */
static uint32_t join_stack(struct joining *joining, const struct iaprof_profile *profile, uint32_t index,
			   uint32_t *frames)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, index);
	CLEANUP_FREE uint32_t *joined = calloc(stack->frame_count, sizeof *joined);
	uint32_t count = 0;
	for (uint32_t i = 0; joined && i < stack->frame_count; i++) {
		uint32_t id = stack->frames[i];
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, id);
		/* The root is always kept, because a stack has at least one frame. */
		if (i && frame->kind == IAPROF_FRAME_DEVICE_OFFSET)
			continue;
		if (frames[id] == FRAME_NONE)
			frames[id] = join_frame(joining, frame);
		if (frames[id] == FRAME_NONE)
			return FRAME_NONE;
		joined[count++] = frames[id];
	}
	return joined ? frame_table_add_stack(joining->frames, joined, count, NULL) : FRAME_NONE;
}

static bool join_lost(struct joining *joining, const struct iaprof_lost *lost, uint32_t value_type, bool is_before)
{
	struct iaprof_lost *joined = NULL;
	for (size_t i = 0; !joined && i < joining->lost.count; i++) {
		struct iaprof_lost *known = &joining->lost.items[i];
		if (known->value_type == value_type && !strcmp(known->source, lost->source) &&
		    !strcmp(known->reason, lost->reason))
			joined = known;
	}
	if (!joined) {
		struct iaprof_lost added = { .source = lost->source, .reason = lost->reason, .value_type = value_type };
		if (!array_push(&joining->lost, added))
			return false;
		joined = &joining->lost.items[joining->lost.count - 1];
	}
	uint64_t *count = is_before ? &joined->before_count : &joined->count;
	uint64_t *value = is_before ? &joined->before_value : &joined->value;
	uint32_t *unknown = is_before ? &joined->before_unknown : &joined->unknown;
	*count = saturating_add(*count, lost->count);
	*value = saturating_add(*value, lost->value);
	*unknown = *unknown > UINT32_MAX - lost->unknown ? UINT32_MAX : *unknown + lost->unknown;
	if (!is_before) {
		joined->begin = lost->begin;
		joined->end = lost->end;
	}
	return true;
}

/* Indexes in the difference by index in the profile. */
struct joined {
	uint32_t *value_types, *frames, *stacks;
};

static void joined_free(struct joined *joined)
{
	free(joined->value_types);
	free(joined->frames);
	free(joined->stacks);
}

static uint32_t *numbers_new(size_t count)
{
	uint32_t *numbers = calloc(count + 1, sizeof *numbers);
	if (numbers)
		memset(numbers, 0xff, count * sizeof *numbers); /* FRAME_NONE */
	return numbers;
}

static bool join_value(struct joining *joining, const struct iaprof_profile *profile, const struct iaprof_value *value,
		       struct joined *joined, bool is_before)
{
	uint32_t *stack = &joined->stacks[value->stack];
	if (*stack == FRAME_NONE)
		*stack = join_stack(joining, profile, value->stack, joined->frames);
	union joined_value wanted = { .value = { .stack = *stack,
						 .value_type = joined->value_types[value->value_type] } };
	uint32_t position = *stack == FRAME_NONE ? POSITION_NONE : keyed_array_add(&joining->values, &wanted);
	if (position == POSITION_NONE)
		return false;
	struct iaprof_value *sum = &joining->values.items[position].value;
	uint64_t *amount = is_before ? &sum->before : &sum->value;
	uint64_t *count = is_before ? &sum->before_count : &sum->count;
	*amount = saturating_add(*amount, value->value);
	*count = saturating_add(*count, value->count);
	return true;
}

/*
 * Returns the index in the difference of each stack of the profile, which the caller frees; NULL when out of memory.
 */
static uint32_t *join_profile(struct joining *joining, const struct iaprof_profile *profile, bool is_before)
{
	CLEANUP(joined_free)
	struct joined joined = {
		.value_types = numbers_new(profile->value_type_count),
		.frames = numbers_new(profile->frame_count),
		.stacks = numbers_new(profile->stack_count),
	};
	bool good = joined.value_types && joined.frames && joined.stacks;
	for (uint32_t i = 0; good && i < profile->value_type_count; i++) {
		joined.value_types[i] = join_value_type(joining, iaprof_profile_value_type(profile, i));
		good = joined.value_types[i] != UINT32_MAX;
	}
	for (size_t i = 0; good && i < profile->value_count; i++)
		good = join_value(joining, profile, iaprof_profile_value(profile, i), &joined, is_before);
	for (size_t i = 0; good && i < profile->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(profile, i);
		uint32_t type = lost->value_type == UINT32_MAX ? UINT32_MAX : joined.value_types[lost->value_type];
		good = join_lost(joining, lost, type, is_before);
	}
	return good ? STEAL_POINTER(joined.stacks) : NULL;
}

struct difference_totals difference_totals(const struct iaprof_profile *profile, uint32_t value_type)
{
	struct difference_totals totals = { 0 };
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		if (value->value_type != value_type)
			continue;
		totals.before = saturating_add(totals.before, value->before);
		totals.after = saturating_add(totals.after, value->value);
	}
	return totals;
}

static int normalize(struct snapshot *snapshot, const struct difference_input *input, struct error *error)
{
	const struct iaprof_profile *profile = &snapshot->profile;
	uint64_t before = profile->before_end - profile->before_begin, after = profile->end - profile->begin;
	if (input->normalization == IAPROF_NORMALIZATION_DURATION && (!before || !after))
		return error_set(error, ENODATA,
				 "the duration of the run %s is not known: use --normalize total instead of duration",
				 before ? "after" : "before");
	for (uint32_t i = 0; i < profile->value_type_count; i++) {
		double *factor = &snapshot->value_types[i].before_factor;
		struct difference_totals totals = difference_totals(profile, i);
		if (input->normalization == IAPROF_NORMALIZATION_DURATION)
			*factor = (double)after / (double)before;
		else if (input->normalization == IAPROF_NORMALIZATION_TOTAL && totals.before && totals.after)
			*factor = (double)totals.after / (double)totals.before;
	}
	return 0;
}

static struct snapshot *make_snapshot(const struct difference *difference, struct joining *joining)
{
	const struct iaprof_profile *before = joining->input->before, *after = joining->input->after;
	struct snapshot *snapshot = snapshot_new(&(struct snapshot_content){
		.frames = joining->frames,
		.values = &(struct value_table){ 0 },
		.value_types = joining->value_types.items,
		.value_type_count = joining->value_types.count,
		.loss = &(struct loss){ .entries = { 0 } },
		.total = true,
	});
	if (!snapshot)
		return NULL;
	struct iaprof_profile *profile = &snapshot->profile;
	profile->values = snapshot_copy(&snapshot->memory, joining->values.items, joining->values.count,
					sizeof *joining->values.items);
	profile->value_count = joining->values.count;
	profile->lost =
		snapshot_copy(&snapshot->memory, joining->lost.items, joining->lost.count, sizeof *joining->lost.items);
	profile->lost_count = joining->lost.count;
	if (snapshot->memory.failed) {
		snapshot_release(snapshot);
		return NULL;
	}
	profile->flags = after->flags | IAPROF_PROFILE_DIFFERENCE;
	profile->begin = after->begin;
	profile->end = after->end;
	profile->begin_realtime = after->begin_realtime;
	profile->metadata = after->metadata;
	profile->before_begin = before->begin;
	profile->before_end = before->end;
	profile->before_begin_realtime = before->begin_realtime;
	profile->before_metadata = before->metadata;
	profile->normalization = joining->input->normalization;
	profile->before_profile = before;
	profile->after_profile = after;
	profile->before_stacks = difference->before_stacks;
	profile->after_stacks = difference->after_stacks;
	return snapshot;
}

struct difference *difference_new(const struct difference_input *input, struct error *error)
{
	struct difference *difference = calloc(1, sizeof *difference);
	if (!difference) {
		error_set(error, ENOMEM, "out of memory");
		return NULL;
	}
	CLEANUP(joining_free) struct joining joining = { .input = input, .frames = &difference->frames };
	difference->after_stacks = join_profile(&joining, input->after, false);
	difference->before_stacks = difference->after_stacks ? join_profile(&joining, input->before, true) : NULL;
	if (difference->before_stacks)
		difference->snapshot = make_snapshot(difference, &joining);
	int result = difference->snapshot ? normalize(difference->snapshot, input, error)
					  : error_set(error, ENOMEM, "out of memory");
	if (!result)
		return difference;
	difference_free(difference);
	return NULL;
}

struct snapshot *difference_snapshot(const struct difference *difference)
{
	return difference->snapshot;
}

void difference_free(struct difference *difference)
{
	if (!difference)
		return;
	snapshot_release(difference->snapshot);
	frame_table_free(&difference->frames);
	free(difference->before_stacks);
	free(difference->after_stacks);
	free(difference);
}
