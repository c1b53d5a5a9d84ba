/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds profiles to the tables. Keys of rows are enum key_part, then IDs of names, unless noted:
 *   kernels       kernel
 *   instructions  kernel, instruction, source file, line (no name), halves of the offset (no names)
 *   reasons       stall reason
 *   functions     function
 *   stacks        the functions, the running one first, the program last
 *   calls         call of a driver or an API
 *   processes     the program
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "stacks/stack_text.h"
#include "stacks/value_label.h"

/* Positions of frames in a stack; UINT32_MAX: none. */
struct parts {
	uint32_t program, kernel, innermost, instruction, reason, offset;
	bool is_lost;
};

/* Separators and source files are redundant to functions. */
static bool is_shown(const struct iaprof_frame *frame)
{
	return frame_is_function(frame) && frame->kind != IAPROF_FRAME_SEPARATOR &&
	       frame->kind != IAPROF_FRAME_DEVICE_SOURCE;
}

/* The process that a value belongs to. */
struct owner {
	uint32_t program, pid;
};

/* Adds to the row of a key, whose process may be replaced by all others. */
static void add_row(struct model *model, enum model_table table, uint32_t type, uint32_t *key, uint32_t length,
		    uint64_t self, uint64_t total)
{
	struct row_table *rows = &model->tables[table];
	/* Many short processes must not use up the rows of functions that are still to come. */
	if (table != TABLE_KERNELS && table != TABLE_PROCESSES && rows->row_count >= ROW_TABLE_ROWS_MAX / 2 &&
	    !row_table_has(rows, type, key, length)) {
		key[KEY_PROGRAM] = NAME_OTHER;
		key[KEY_PID] = 0;
	}
	uint32_t row = row_table_find(rows, type, key, length);
	if (row == UINT32_MAX)
		model->out_of_memory = true;
	else
		row_add(&rows->rows[row], model->intervals, self, total);
	model->has[table][type] |= row != UINT32_MAX && total;
	model->has_modules[table] |= key[KEY_MODULE] != model->no_name;
}

/* Adds to a row with one name. */
static void add_name(struct model *model, enum model_table table, uint32_t type, const struct owner *owner,
		     uint32_t module, uint32_t name, uint64_t self, uint64_t total)
{
	uint32_t key[] = {
		[KEY_PROGRAM] = owner->program, [KEY_PID] = owner->pid, [KEY_MODULE] = module, [KEY_REST] = name
	};
	add_row(model, table, type, key, sizeof key / sizeof *key, self, total);
}

static bool is_first_time(struct model *model, uint32_t name)
{
	bool is_first = model->seen.items[name] != model->stamp;
	model->seen.items[name] = model->stamp;
	return is_first;
}

/* Extends the stamps to names added since the last value, and by the next one: each frame has a name and a module. */
static bool seen_reserve(struct model *model, size_t frames)
{
	size_t wanted = model->names.texts.entries.count + 2 * (frames + 1);
	if (!array_reserve(&model->seen, wanted) || !array_reserve(&model->path, frames + KEY_REST))
		return false;
	while (model->seen.count < wanted)
		model->seen.items[model->seen.count++] = 0;
	return true;
}

static void add_functions(struct model *model, const struct iaprof_profile *profile, const struct iaprof_stack *stack,
			  const struct owner *owner, uint32_t type, uint64_t value)
{
	uint32_t length = KEY_REST, innermost_call = UINT32_MAX, leaf_module = model->no_name;
	uint32_t *path = model->path.items;
	model->stamp++;
	for (uint32_t i = stack->frame_count; i-- > 0;) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, stack->frames[i]);
		if (!is_shown(frame) || frame->flags & IAPROF_FRAME_PRODUCER)
			continue;
		uint32_t name = names_of_frame(&model->names, profile, stack->frames[i]);
		uint32_t module = names_of_module(&model->names, profile, stack->frames[i]);
		bool is_call = frame->kind == IAPROF_FRAME_CALL, is_first = is_first_time(model, name);
		bool is_leaf = length == KEY_REST;
		if (is_leaf)
			leaf_module = module;
		add_name(model, TABLE_FUNCTIONS, type, owner, module, name, is_leaf ? value : 0, is_first ? value : 0);
		if (is_call)
			add_name(model, TABLE_CALLS, type, owner, module, name,
				 innermost_call == UINT32_MAX ? value : 0, is_first ? value : 0);
		if (is_call && innermost_call == UINT32_MAX)
			innermost_call = name;
		path[length++] = name;
	}
	path[KEY_PROGRAM] = owner->program;
	path[KEY_PID] = owner->pid;
	path[KEY_TID] = 0;
	path[KEY_MODULE] = leaf_module;
	add_row(model, TABLE_STACKS, type, path, length, value, value);
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
		       const struct owner *owner, uint32_t type, uint64_t value)
{
	uint32_t kernel = name_of(model, profile, parts->kernel);
	uint32_t module =
		parts->kernel == UINT32_MAX ? model->no_name : names_of_module(&model->names, profile, parts->kernel);
	add_name(model, TABLE_KERNELS, type, owner, module, kernel, value, value);
	if (parts->offset != UINT32_MAX) {
		uint64_t offset = iaprof_profile_frame(profile, parts->offset)->offset;
		const struct iaprof_frame *code = iaprof_profile_frame(profile, parts->innermost);
		uint32_t of_instruction[] = { owner->program,
					      owner->pid,
					      0,
					      module,
					      kernel,
					      name_of(model, profile, parts->instruction),
					      names_find(&model->names, code->file ? code->file : "", ""),
					      code->line,
					      (uint32_t)(offset >> 32),
					      (uint32_t)offset };
		add_row(model, TABLE_INSTRUCTIONS, type, of_instruction, sizeof of_instruction / sizeof *of_instruction,
			value, value);
	}
	if (parts->reason != UINT32_MAX)
		add_name(model, TABLE_REASONS, type, owner, model->no_name, name_of(model, profile, parts->reason),
			 value, value);
}

static void add_process(struct model *model, const struct owner *owner, uint32_t type,
			const struct iaprof_stack_origin *origin, uint64_t value)
{
	uint32_t key[] = { [KEY_PROGRAM] = owner->program,
			   [KEY_PID] = owner->pid,
			   [KEY_TID] = origin->tid,
			   [KEY_MODULE] = model->no_name,
			   [KEY_REST] = owner->program,
			   [KEY_REST + 1] =
				   origin->thread ? names_find(&model->names, origin->thread, "") : owner->program };
	uint32_t length = sizeof key / sizeof *key;
	model->has_threads |= origin->tid && origin->tid != owner->pid;
	/* The name of most threads is that of the program. */
	add_row(model, TABLE_PROCESSES, type, key, key[KEY_REST + 1] == owner->program ? length - 1 : length, value,
		value);
}

/* Value types keep their positions for the whole run. */
static void take_types(struct model *model, const struct iaprof_profile *profile)
{
	for (uint32_t i = 0; i < profile->value_type_count && i < MODEL_TYPES_MAX; i++) {
		const struct iaprof_value_type *type = iaprof_profile_value_type(profile, i);
		struct text title = { 0 };
		value_type_append_own_title(&title, profile, i);
		snprintf(model->types[i].title, MODEL_TITLE_SIZE, "%s", text_string(&title));
		text_free(&title);
		model->types[i].role = type->role;
		model->types[i].device_kind = type->device_kind;
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
	struct owner owner = { .program = name_of(model, profile, parts.program) };
	if (parts.program != UINT32_MAX)
		owner.pid = iaprof_profile_frame(profile, parts.program)->pid;
	type->run += value->value;
	type->last += value->value;
	if (parts.is_lost) {
		type->lost += value->value;
		type->last_lost += value->value;
	} else {
		type->run_count += value->count;
		type->last_count += value->count;
	}
	add_functions(model, profile, stack, &owner, value->value_type, value->value);
	if (parts.kernel != UINT32_MAX)
		add_device(model, profile, &parts, &owner, value->value_type, value->value);
	struct iaprof_stack_origin origin = iaprof_profile_stack(profile, value->stack)->origin;
	if (parts.program != UINT32_MAX)
		add_process(model, &owner, value->value_type, &origin, value->value);
}

static struct model_loss *find_loss(struct model *model, const char *source, const char *reason)
{
	struct model_loss wanted = { 0 };
	strncpy(wanted.source, source, sizeof wanted.source - 1);
	strncpy(wanted.reason, reason, sizeof wanted.reason - 1);
	for (uint32_t i = 0; i < model->loss_count; i++)
		if (!strcmp(model->losses[i].source, wanted.source) && !strcmp(model->losses[i].reason, wanted.reason))
			return &model->losses[i];
	/* The last entry is the sum of all others. */
	if (model->loss_count >= MODEL_LOSSES_MAX)
		return &model->losses[MODEL_LOSSES_MAX - 1];
	if (model->loss_count == MODEL_LOSSES_MAX - 1)
		wanted = (struct model_loss){ .source = "others" };
	model->losses[model->loss_count] = wanted;
	return &model->losses[model->loss_count++];
}

static void add_loss(struct model *model, const struct iaprof_lost *lost)
{
	struct model_loss *loss = find_loss(model, lost->source, lost->reason);
	if (loss->interval != model->intervals)
		loss->last = 0;
	loss->interval = model->intervals;
	loss->last += lost->count;
	loss->run += lost->count;
	loss->unknown += lost->unknown;
}

static void add_losses(struct model *model, const struct iaprof_profile *profile)
{
	for (size_t i = 0; i < profile->lost_count; i++)
		add_loss(model, iaprof_profile_lost(profile, i));
}

static void add_jobs(struct model *model, const struct iaprof_profile *profile)
{
	model->last_jobs = profile->jobs_done + profile->jobs_aborted - model->jobs_done - model->jobs_aborted;
	model->jobs_done = profile->jobs_done;
	model->jobs_aborted = profile->jobs_aborted;
}

static void add_counters(struct model *model, const struct iaprof_activity *activity)
{
	for (size_t i = 0; i < activity->counter_count; i++) {
		const struct iaprof_counter *counter = iaprof_activity_counter(activity, i);
		const char *device = counter->device == IAPROF_ACTIVITY_NONE
					     ? ""
					     : iaprof_activity_device(activity, counter->device)->name;
		const struct model_item item = { .table = TABLE_COUNTERS,
						 .source = counter->source,
						 .name = counter->name,
						 .text = counter->unit,
						 .device = device,
						 .value = counter->last,
						 .count = counter->count };
		meters_take_counter(&model->meters, counter, activity, model->end);
		model->out_of_memory |= counter->count && !array_push(&model->items, item);
	}
}

static void add_findings(struct model *model, const struct iaprof_activity *activity, uint32_t severity)
{
	for (size_t i = 0; i < activity->finding_count; i++) {
		const struct iaprof_finding *finding = iaprof_activity_finding(activity, i);
		const struct model_item item = { .table = TABLE_FINDINGS,
						 .source = finding->source,
						 .name = finding->name,
						 .text = finding->text,
						 .severity = severity,
						 .pid = finding->pid,
						 .count = finding->count };
		if (finding->severity == severity)
			model->out_of_memory |= !array_push(&model->items, item);
	}
}

static void add_activity(struct model *model, const struct iaprof_activity *activity)
{
	if (!activity)
		return;
	model->items.count = 0;
	add_counters(model, activity);
	for (uint32_t severity = IAPROF_FINDING_PROBLEM; severity > 0; severity--)
		add_findings(model, activity, severity);
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
	model->no_name = names_find(&model->names, "", "");
	for (size_t i = 0; i < profile->value_count; i++)
		add_value(model, profile, iaprof_profile_value(profile, i));
	add_losses(model, profile);
	add_jobs(model, profile);
	add_activity(model, profile->activity);
	meters_advance(&model->meters, profile->end);
}
