/* SPDX-License-Identifier: Apache-2.0 */
/* Joins two profiles: see difference.h. */
#include "stacks/difference.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/keyed_array.h"
#include "base/saturating.h"
#include "base/string_table.h"
#include "text/printable.h"

/* A value, found by its first two members. */
union joined_value {
	struct {
		uint32_t stack, value_type;
	} key;
	struct iaprof_value value;
};

/* Texts are interned, so two frames are the same when their members are. */
struct joined_frame {
	struct iaprof_frame key;
};

struct difference {
	struct difference_input input;
	struct iaprof_profile profile;
	struct string_table names;
	KEYED_ARRAY(struct joined_frame) frames;
	struct string_table stack_frames; /* indexes of frames, by index of the stack + 1 */
	ARRAY(struct iaprof_stack) stacks;
	ARRAY(struct iaprof_value_type) value_types;
	KEYED_ARRAY(union joined_value) values;
	ARRAY(struct iaprof_lost) lost;
	uint32_t *before_stacks, *after_stacks;
};

/* Returns the index of a value type in the difference, adding it if it is new; UINT32_MAX: out of memory. */
static uint32_t join_value_type(struct difference *joining, const struct iaprof_value_type *type)
{
	for (uint32_t i = 0; i < joining->value_types.count; i++) {
		struct iaprof_value_type *known = &joining->value_types.items[i];
		if (strcmp(known->name, type->name) != 0 || strcmp(known->unit, type->unit) != 0)
			continue;
		if (known->role == IAPROF_VALUE_UNKNOWN) { /* of an older capture */
			known->role = type->role;
			known->device_kind = type->device_kind;
			known->sample_unit = type->sample_unit;
		}
		if (known->sample_unit && type->sample_unit && strcmp(known->sample_unit, type->sample_unit) != 0)
			known->sample_unit = NULL; /* of different devices */
		known->flags |= type->flags;
		return i;
	}
	struct iaprof_value_type added = *type;
	added.added_up_over = 0;
	added.before_factor = 1;
	return array_push(&joining->value_types, added) ? (uint32_t)joining->value_types.count - 1 : UINT32_MAX;
}

static const char *own_text(struct difference *joining, const char *text)
{
	return text ? string_table_intern(&joining->names, text, strlen(text)) : NULL;
}

/* Adds a frame without the members that differ between equal frames of two runs. */
static uint32_t join_frame(struct difference *joining, const struct iaprof_frame *frame)
{
	bool is_instruction = frame->kind == IAPROF_FRAME_DEVICE_INSTRUCTION;
	bool has_line = joining->input.lines || (joining->input.device_lines && is_instruction);
	const struct joined_frame seen = { { .name = own_text(joining, frame->name),
					     .module = own_text(joining, path_name(frame->module)),
					     .file = own_text(joining, path_name(frame->file)),
					     .line = has_line ? frame->line : 0,
					     .kind = frame->kind,
					     .flags = frame->flags,
					     .kernel_class = own_text(joining, frame->kernel_class) } };
	if (!seen.key.name || !seen.key.module != !frame->module || !seen.key.file != !frame->file)
		return POSITION_NONE;
	return keyed_array_add(&joining->frames, &seen);
}

static uint32_t add_stack(struct difference *joining, const uint32_t *frames, uint32_t count)
{
	bool is_new = false;
	uint32_t id = string_table_add(&joining->stack_frames, (const char *)frames, count * sizeof *frames, &is_new);
	struct iaprof_stack stack = { .frames = (const void *)string_table_text(&joining->stack_frames, id),
				      .frame_count = count };
	return id && (!is_new || array_push(&joining->stacks, stack)) ? id - 1 : POSITION_NONE;
}

/*
 * Returns the index of a stack in the difference; POSITION_NONE: out of memory. frames: indexes in the difference by
 * frame of the profile, POSITION_NONE: not added yet.
 */
static uint32_t join_stack(struct difference *joining, const struct iaprof_profile *profile, uint32_t index,
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
		if (frames[id] == POSITION_NONE)
			frames[id] = join_frame(joining, frame);
		if (frames[id] == POSITION_NONE)
			return POSITION_NONE;
		joined[count++] = frames[id];
	}
	return joined ? add_stack(joining, joined, count) : POSITION_NONE;
}

static bool join_lost(struct difference *joining, const struct iaprof_lost *lost, uint32_t value_type, bool is_before)
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
		memset(numbers, 0xff, count * sizeof *numbers); /* POSITION_NONE */
	return numbers;
}

static bool join_value(struct difference *joining, const struct iaprof_profile *profile,
		       const struct iaprof_value *value, struct joined *joined, bool is_before)
{
	uint32_t *stack = &joined->stacks[value->stack];
	if (*stack == POSITION_NONE)
		*stack = join_stack(joining, profile, value->stack, joined->frames);
	union joined_value wanted = { .value = { .stack = *stack,
						 .value_type = joined->value_types[value->value_type] } };
	uint32_t position = *stack == POSITION_NONE ? POSITION_NONE : keyed_array_add(&joining->values, &wanted);
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
static uint32_t *join_profile(struct difference *joining, const struct iaprof_profile *profile, bool is_before)
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

static int normalize(struct difference *difference, struct error *error)
{
	const struct iaprof_profile *profile = &difference->profile;
	uint64_t before = profile->before_end - profile->before_begin, after = profile->end - profile->begin;
	if (profile->normalization == IAPROF_NORMALIZATION_DURATION && (!before || !after))
		return error_set(error, ENODATA,
				 "the duration of the run %s is not known: use --normalize total instead of duration",
				 before ? "after" : "before");
	for (uint32_t i = 0; i < profile->value_type_count; i++) {
		double *factor = &difference->value_types.items[i].before_factor;
		struct difference_totals totals = difference_totals(profile, i);
		if (profile->normalization == IAPROF_NORMALIZATION_DURATION)
			*factor = (double)after / (double)before;
		else if (profile->normalization == IAPROF_NORMALIZATION_TOTAL && totals.before && totals.after)
			*factor = (double)totals.after / (double)totals.before;
	}
	return 0;
}

#define SECTION(name, array)                                                                                           \
	.name##s = difference->array.items, .name##_count = difference->array.count,                                   \
	.name##_size = sizeof *difference->array.items

static void make_profile(struct difference *difference)
{
	const struct iaprof_profile *before = difference->input.before, *after = difference->input.after;
	difference->profile = (struct iaprof_profile){
		.size = sizeof difference->profile,
		.flags = after->flags | IAPROF_PROFILE_DIFFERENCE,
		.begin = after->begin,
		.end = after->end,
		.begin_realtime = after->begin_realtime,
		.metadata = after->metadata,
		.before_begin = before->begin,
		.before_end = before->end,
		.before_begin_realtime = before->begin_realtime,
		.before_metadata = before->metadata,
		.normalization = difference->input.normalization,
		.before_profile = before,
		.after_profile = after,
		.before_stacks = difference->before_stacks,
		.after_stacks = difference->after_stacks,
		SECTION(frame, frames),
		SECTION(stack, stacks),
		SECTION(value_type, value_types),
		SECTION(value, values),
		.lost = difference->lost.items,
		.lost_count = difference->lost.count,
		.lost_size = sizeof *difference->lost.items,
	};
}

struct difference *difference_new(const struct difference_input *input, struct error *error)
{
	struct difference *difference = calloc(1, sizeof *difference);
	if (!difference) {
		error_set(error, ENOMEM, "out of memory");
		return NULL;
	}
	difference->input = *input;
	difference->after_stacks = join_profile(difference, input->after, false);
	difference->before_stacks = difference->after_stacks ? join_profile(difference, input->before, true) : NULL;
	make_profile(difference);
	if (difference->before_stacks ? !normalize(difference, error) : !error_set(error, ENOMEM, "out of memory"))
		return difference;
	difference_free(difference);
	return NULL;
}

const struct iaprof_profile *difference_profile(const struct difference *difference)
{
	return &difference->profile;
}

void difference_free(struct difference *difference)
{
	if (!difference)
		return;
	string_table_free(&difference->names);
	keyed_array_free(&difference->frames);
	string_table_free(&difference->stack_frames);
	array_free(&difference->stacks);
	array_free(&difference->value_types);
	keyed_array_free(&difference->values);
	array_free(&difference->lost);
	free(difference->before_stacks);
	free(difference->after_stacks);
	free(difference);
}
