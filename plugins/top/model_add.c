/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles into tables. The keys of rows are numbers of names, unless said otherwise:
 *   kernels       program, its process id (no name), kernel
 *   instructions  kernel, instruction, source file, line (no name), halves of the offset (no names)
 *   reasons       stall reason
 *   functions     function
 *   stacks        the functions, the running one first, the program last
 *   calls         call of a driver or an API
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* The parts of a stack that tables are about; UINT32_MAX: it has none. */
struct parts {
	uint32_t program, kernel, innermost, instruction, reason, offset;
	bool is_lost;
};

static bool is_function(const struct iaprof_frame *frame)
{
	return frame->kind < IAPROF_FRAME_DEVICE_INSTRUCTION || frame->kind > IAPROF_FRAME_DEVICE_OFFSET;
}

/* Separators and source files say nothing that functions do not. */
static bool is_shown(const struct iaprof_frame *frame)
{
	return is_function(frame) && frame->kind != IAPROF_FRAME_SEPARATOR && frame->kind != IAPROF_FRAME_DEVICE_SOURCE;
}

static void add(struct model *model, enum model_table table, uint32_t type, const uint32_t *key, uint32_t length,
		uint64_t self, uint64_t total)
{
	uint32_t row = row_table_find(&model->tables[table], type, key, length);
	if (row == UINT32_MAX)
		model->out_of_memory = true;
	else
		row_add(&model->tables[table].rows[row], model->intervals, self, total);
	model->has[table][type] |= row != UINT32_MAX && total;
}

static bool is_first_time(struct model *model, uint32_t name)
{
	bool is_first = model->seen[name] != model->stamp;
	model->seen[name] = model->stamp;
	return is_first;
}

/* Numbers for the marks of names: names may have been added since the last value. */
static bool seen_reserve(struct model *model, size_t more)
{
	size_t wanted = model->names.count + more;
	if (wanted > model->seen_count) {
		uint32_t *moved = realloc(model->seen, 2 * wanted * sizeof *moved);
		if (!moved)
			return false;
		memset(moved + model->seen_count, 0, (2 * wanted - model->seen_count) * sizeof *moved);
		model->seen = moved;
		model->seen_count = 2 * wanted;
	}
	if (more + 1 > model->path_capacity) {
		uint32_t *moved = realloc(model->path, 2 * (more + 1) * sizeof *moved);
		if (!moved)
			return false;
		model->path = moved;
		model->path_capacity = 2 * (more + 1);
	}
	return true;
}

static void add_functions(struct model *model, const struct iaprof_profile *profile, const struct iaprof_stack *stack,
			  uint32_t type, uint64_t value)
{
	uint32_t length = 0, innermost_call = UINT32_MAX;
	model->stamp++;
	for (uint32_t i = stack->frame_count; i-- > 0;) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, stack->frames[i]);
		if (!is_shown(frame) || frame->flags & IAPROF_FRAME_PRODUCER)
			continue;
		uint32_t name = names_of_frame(&model->names, profile, stack->frames[i]);
		bool is_call = frame->kind == IAPROF_FRAME_CALL, is_first = is_first_time(model, name);
		add(model, TABLE_FUNCTIONS, type, &name, 1, length ? 0 : value, is_first ? value : 0);
		if (is_call)
			add(model, TABLE_CALLS, type, &name, 1, innermost_call == UINT32_MAX ? value : 0,
			    is_first ? value : 0);
		if (is_call && innermost_call == UINT32_MAX)
			innermost_call = name;
		model->path[length++] = name;
	}
	add(model, TABLE_STACKS, type, model->path, length, value, value);
}

static struct parts find_parts(const struct iaprof_profile *profile, const struct iaprof_stack *stack)
{
	struct parts parts = { UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, false };
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, stack->frames[i]);
		uint32_t id = stack->frames[i];
		if (frame->flags & IAPROF_FRAME_PRODUCER)
			continue;
		if (frame->kind == IAPROF_FRAME_PROCESS && parts.program == UINT32_MAX)
			parts.program = id;
		if (frame->kind == IAPROF_FRAME_DEVICE_FUNCTION) {
			if (parts.kernel == UINT32_MAX)
				parts.kernel = id;
			parts.innermost = id;
		}
		if (frame->kind == IAPROF_FRAME_DEVICE_INSTRUCTION)
			parts.instruction = id;
		if (frame->kind == IAPROF_FRAME_STALL_REASON)
			parts.reason = id;
		if (frame->kind == IAPROF_FRAME_DEVICE_OFFSET)
			parts.offset = id;
		parts.is_lost |= frame->kind == IAPROF_FRAME_LOST;
	}
	return parts;
}

static uint32_t name_of(struct model *model, const struct iaprof_profile *profile, uint32_t frame)
{
	return frame == UINT32_MAX ? names_find(&model->names, "-", "") : names_of_frame(&model->names, profile, frame);
}

static void add_device(struct model *model, const struct iaprof_profile *profile, const struct parts *parts,
		       uint32_t type, uint64_t value)
{
	uint32_t kernel = name_of(model, profile, parts->kernel);
	uint32_t pid = parts->program == UINT32_MAX ? 0 : iaprof_profile_frame(profile, parts->program)->pid;
	uint32_t of_kernel[] = { name_of(model, profile, parts->program), pid, kernel };
	add(model, TABLE_KERNELS, type, of_kernel, 3, value, value);
	if (parts->offset != UINT32_MAX) {
		uint64_t offset = iaprof_profile_frame(profile, parts->offset)->offset;
		const struct iaprof_frame *code = iaprof_profile_frame(profile, parts->innermost);
		uint32_t of_instruction[] = { kernel,
					      name_of(model, profile, parts->instruction),
					      names_find(&model->names, code->file ? code->file : "", ""),
					      code->line,
					      (uint32_t)(offset >> 32),
					      (uint32_t)offset };
		add(model, TABLE_INSTRUCTIONS, type, of_instruction, 6, value, value);
	}
	if (parts->reason != UINT32_MAX) {
		uint32_t reason = name_of(model, profile, parts->reason);
		add(model, TABLE_REASONS, type, &reason, 1, value, value);
	}
}

/* Value types keep their places as long as the run. */
static void take_types(struct model *model, const struct iaprof_profile *profile)
{
	for (uint32_t i = 0; i < profile->value_type_count && i < MODEL_TYPES_MAX; i++) {
		const struct iaprof_value_type *type = iaprof_profile_value_type(profile, i);
		model->types[i].name = type->name;
		model->types[i].unit = type->unit;
		model->types[i].last = model->types[i].last_count = model->types[i].last_lost = 0;
		if (i >= model->type_count)
			model->type_count = i + 1;
	}
	model->types_left_out =
		profile->value_type_count > MODEL_TYPES_MAX ? (uint32_t)profile->value_type_count - MODEL_TYPES_MAX : 0;
}

static void add_value(struct model *model, const struct iaprof_profile *profile, const struct iaprof_value *value)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
	if (value->value_type >= MODEL_TYPES_MAX)
		return;
	if (!seen_reserve(model, stack->frame_count)) {
		model->out_of_memory = true;
		return;
	}
	struct model_type *type = &model->types[value->value_type];
	struct parts parts = find_parts(profile, stack);
	type->run += value->value;
	type->last += value->value;
	if (parts.is_lost) {
		type->lost += value->value;
		type->last_lost += value->value;
	} else {
		type->run_count += value->count;
		type->last_count += value->count;
	}
	add_functions(model, profile, stack, value->value_type, value->value);
	if (parts.kernel != UINT32_MAX)
		add_device(model, profile, &parts, value->value_type, value->value);
}

static struct model_loss *find_loss(struct model *model, const char *source, const char *reason)
{
	struct model_loss wanted = { 0 };
	strncpy(wanted.source, source, sizeof wanted.source - 1);
	strncpy(wanted.reason, reason, sizeof wanted.reason - 1);
	for (uint32_t i = 0; i < model->loss_count; i++)
		if (!strcmp(model->losses[i].source, wanted.source) && !strcmp(model->losses[i].reason, wanted.reason))
			return &model->losses[i];
	/* The last place is that of all that have none, whatever they are called. */
	if (model->loss_count >= MODEL_LOSSES_MAX)
		return &model->losses[MODEL_LOSSES_MAX - 1];
	if (model->loss_count == MODEL_LOSSES_MAX - 1)
		wanted = (struct model_loss){ .source = "others" };
	model->losses[model->loss_count] = wanted;
	return &model->losses[model->loss_count++];
}

static void add_losses(struct model *model, const struct iaprof_profile *profile)
{
	for (size_t i = 0; i < profile->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(profile, i);
		struct model_loss *loss = find_loss(model, lost->source, lost->reason);
		if (loss->interval != model->intervals)
			loss->last = 0;
		loss->interval = model->intervals;
		loss->last += lost->count;
		loss->run += lost->count;
		loss->unknown += lost->unknown;
	}
}

static void add_jobs(struct model *model, const struct iaprof_profile *profile)
{
	if (profile->size < offsetof(struct iaprof_profile, jobs_aborted) + sizeof profile->jobs_aborted)
		return;
	model->last_jobs = profile->jobs_done + profile->jobs_aborted - model->jobs_done - model->jobs_aborted;
	model->jobs_done = profile->jobs_done;
	model->jobs_aborted = profile->jobs_aborted;
}

void model_add(struct model *model, const struct iaprof_profile *profile)
{
	if (!model->intervals++)
		model->begin = profile->begin;
	model->last_begin = profile->begin;
	model->end = profile->end;
	model->end_realtime = profile->begin_realtime ? profile->begin_realtime + (profile->end - profile->begin) : 0;
	take_types(model, profile);
	if (!names_begin(&model->names, profile)) {
		model->out_of_memory = true;
		return;
	}
	for (size_t i = 0; i < profile->value_count; i++)
		add_value(model, profile, iaprof_profile_value(profile, i));
	add_losses(model, profile);
	add_jobs(model, profile);
}
