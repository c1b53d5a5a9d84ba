/* SPDX-License-Identifier: Apache-2.0 */
/* See profile_summary.h. */
#include "stacks/profile_summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed_array.h"
#include "base/saturating.h"
#include "base/string_table.h"
#include "process/process_rank.h"
#include "stacks/stack_parts.h"
#include "stacks/value_label.h"
#include "text/printable.h"

/*
 * A narrow kernel: its least share of the device's time, and its largest use. The fullest kernel: its least share of
 * the time. The page has the same (plugins/sink-flamegraph/page/analysis.js).
 */
#define NARROW_SHARE 0.05
#define NARROW_USE 0.25
#define FULLEST_SHARE 0.01
/* Samples from which use has two digits: so many vary by a tenth. */
#define USE_SAMPLES 100u

/* Sums by a key of four numbers; frame is that of the largest single value. */
struct tally {
	struct tally_key {
		uint32_t parts[4];
	} key;
	uint64_t value, largest;
	const struct iaprof_frame *frame, *second;
};

typedef KEYED_ARRAY(struct tally) tallies;

struct making {
	struct profile_summary *summary;
	struct string_table names;
	tallies functions; /* name, module of a CPU function without a name */
	tallies cells;     /* function, file, line, class: frame the instruction, second the reason */
	tallies producers; /* cell, name, file, line */
	tallies launches;  /* function, name, file, line */
	tallies samples;   /* name: device samples of kernels, beside their time */
	tallies copies;    /* name of a kind of copies, name, file, line of their launch: time */
	uint64_t in_kernels;
	bool has_classes;    /* frames state the classes of kernels */
	bool has_more_ranks; /* than there is room for */
	bool failed;
};

/* Returns the position of a key after adding to it; POSITION_NONE out of memory. */
static uint32_t tally_add(struct making *making, tallies *sums, struct tally_key key, uint64_t value,
			  const struct iaprof_frame *frame, const struct iaprof_frame *second)
{
	uint32_t position = keyed_array_add(sums, &((struct tally){ .key = key, .frame = frame, .second = second }));
	if (position == POSITION_NONE) {
		making->failed = true;
		return POSITION_NONE;
	}
	struct tally *tally = &sums->items[position];
	tally->value = saturating_add(tally->value, value);
	if (value > tally->largest) {
		tally->largest = value;
		tally->frame = frame;
		tally->second = second;
	}
	return position;
}

static uint32_t text_id(struct making *making, const char *text)
{
	uint32_t id = text && *text ? string_table_add(&making->names, text, strlen(text), NULL) : 0;
	making->failed |= text && *text && !id;
	return id;
}

/* Adds to the part of that name. */
static void add_part(struct making *making, summary_parts *parts, const char *name, uint64_t value)
{
	size_t i = 0;
	while (i < parts->count && strcmp(parts->items[i].name, name) != 0)
		i++;
	if (i < parts->count)
		parts->items[i].value = saturating_add(parts->items[i].value, value);
	else if (i < SUMMARY_PARTS_MAX)
		making->failed |= !array_push(parts, ((struct summary_part){ name, value }));
}

static int compare_parts(const void *left, const void *right)
{
	const struct summary_part *a = left, *b = right;
	return a->value != b->value ? (a->value < b->value) - (a->value > b->value) : strcmp(a->name, b->name);
}

static void sort_parts(summary_parts *parts)
{
	if (parts->count)
		qsort(parts->items, parts->count, sizeof *parts->items, compare_parts);
}

/* Adds what kernels without a class have, if others have one. */
static void add_other_kernels(struct making *making)
{
	summary_parts *classes = &making->summary->kernel_classes;
	uint64_t rest = making->in_kernels;
	for (size_t i = 0; i < classes->count; i++)
		rest -= classes->items[i].value < rest ? classes->items[i].value : rest;
	if (classes->count && rest)
		making->failed |= !array_push(classes, ((struct summary_part){ SUMMARY_OTHER_CLASS, rest }));
}

static void add_rank(struct making *making, const struct stack_parts *parts, uint64_t value)
{
	struct profile_summary *summary = making->summary;
	size_t i = 0;
	if (!parts->process || !process_rank_suffix(parts->process->name))
		return;
	while (i < summary->ranks.count && strcmp(summary->ranks.items[i].name, parts->process->name) != 0)
		i++;
	if (i == SUMMARY_PARTS_MAX) {
		making->has_more_ranks = true;
		return;
	}
	if (i == summary->ranks.count &&
	    !array_push(&summary->ranks, ((struct summary_rank){ .name = parts->process->name }))) {
		making->failed = true;
		return;
	}
	struct summary_rank *rank = &summary->ranks.items[i];
	rank->value = saturating_add(rank->value, value);
	if (kernel_class_is_collective(parts->kernel_class))
		rank->collective = saturating_add(rank->collective, value);
}

static int compare_ranks(const void *left, const void *right)
{
	const struct summary_rank *a = left, *b = right;
	double share_a = summary_rank_share(a), share_b = summary_rank_share(b);
	return share_a != share_b ? (share_a < share_b) - (share_a > share_b) : strcmp(a->name, b->name);
}

static void sort_ranks(struct making *making)
{
	struct profile_summary *summary = making->summary;
	/* The one that the others wait for may be among those without room. */
	if (summary->ranks.count > 1 && !making->has_more_ranks)
		qsort(summary->ranks.items, summary->ranks.count, sizeof *summary->ranks.items, compare_ranks);
	else
		summary->ranks.count = 0;
}

static void add_device(struct making *making, const struct stack_parts *parts, uint64_t value)
{
	struct profile_summary *summary = making->summary;
	uint32_t stall_class = parts->reason ? stall_class_of(parts->reason) : IAPROF_STALL_UNKNOWN;
	if (!parts->reason)
		summary->unsampled = saturating_add(summary->unsampled, value);
	else if (stall_class != IAPROF_STALL_ISSUING)
		summary->stalled = saturating_add(summary->stalled, value);
	if (!parts->kernel)
		return;
	making->in_kernels = saturating_add(making->in_kernels, value);
	if (iaprof_profile_value_type(summary->profile, summary->value_type)->role == IAPROF_VALUE_DEVICE_TIME)
		add_rank(making, parts, value);
	if (parts->kernel_class)
		add_part(making, &summary->kernel_classes, parts->kernel_class, value);
	if (!(parts->kernel->flags & IAPROF_FRAME_UNKNOWN))
		summary->matched = saturating_add(summary->matched, value);
	const struct iaprof_frame *instruction = parts->instruction, *launch = parts->launch;
	uint32_t function =
		tally_add(making, &making->functions, (struct tally_key){ { text_id(making, parts->kernel->name) } },
			  value, parts->kernel, NULL);
	uint32_t line = instruction ? instruction->line : 0;
	if (line)
		summary->with_lines = saturating_add(summary->with_lines, value);
	uint32_t cell = tally_add(
		making, &making->cells,
		(struct tally_key){ { function, line ? text_id(making, instruction->file) : 0, line, stall_class } },
		value, instruction, parts->reason);
	const struct iaprof_frame *producer = parts->producer;
	if (producer)
		tally_add(making, &making->producers,
			  (struct tally_key){ { cell, text_id(making, producer->name), text_id(making, producer->file),
						producer->line } },
			  value, producer, NULL);
	if (launch)
		tally_add(making, &making->launches,
			  (struct tally_key){ { function, text_id(making, launch->name), text_id(making, launch->file),
						launch->line } },
			  value, launch, NULL);
}

static void add_cpu(struct making *making, const struct stack_parts *parts, uint64_t value)
{
	struct profile_summary *summary = making->summary;
	if (!parts->function)
		return;
	if (!(parts->function->flags & IAPROF_FRAME_UNKNOWN))
		summary->matched = saturating_add(summary->matched, value);
	/* What has no name is called by its module. */
	const char *module = parts->function->flags & IAPROF_FRAME_UNKNOWN ? parts->function->module : NULL;
	tally_add(making, &making->functions,
		  (struct tally_key){ { text_id(making, parts->function->name), text_id(making, module) } }, value,
		  parts->function, NULL);
}

/* Adds device samples of the devices whose time is summed up. */
static void add_samples(struct making *making, const struct stack_parts *parts, uint64_t value)
{
	if (parts->kernel)
		tally_add(making, &making->samples, (struct tally_key){ { text_id(making, parts->kernel->name) } },
			  value, parts->kernel, NULL);
}

static uint64_t samples_of(const struct making *making, const struct tally *function)
{
	const struct tally *samples = keyed_array_get(&making->samples, &function->key);
	return samples ? samples->value : 0;
}

static bool find_functions(struct making *making)
{
	struct profile_summary *summary = making->summary;
	for (size_t i = 0; i < making->functions.count; i++) {
		const struct tally *tally = &making->functions.items[i];
		struct summary_function function = { .frame = tally->frame,
						     .kernel_class =
							     making->has_classes ? tally->frame->kernel_class : NULL,
						     .value = tally->value,
						     .samples = samples_of(making, tally) };
		if (!array_push(&summary->functions, function))
			return false;
	}
	for (size_t i = 0; i < making->cells.count; i++) {
		const struct tally *cell = &making->cells.items[i];
		uint64_t *sum = &summary->functions.items[cell->key.parts[0]].classes[cell->key.parts[3]];
		*sum = saturating_add(*sum, cell->value);
	}
	for (size_t i = 0; i < making->launches.count; i++) {
		const struct tally *launch = &making->launches.items[i];
		struct summary_function *function = &summary->functions.items[launch->key.parts[0]];
		if (launch->value > function->launch_value) {
			function->launch_value = launch->value;
			function->launch = launch->frame;
		}
	}
	return true;
}

/* Keeps the causes with the largest values, sorted. */
static bool find_causes(struct making *making)
{
	struct profile_summary *summary = making->summary;
	uint32_t cells[SUMMARY_CAUSES_MAX];
	for (uint32_t i = 0; i < making->cells.count; i++) {
		const struct tally *cell = &making->cells.items[i];
		if (cell->key.parts[3] == IAPROF_STALL_ISSUING || !cell->second)
			continue;
		size_t place = summary->causes.count;
		while (place > 0 && summary->causes.items[place - 1].value < cell->value)
			place--;
		if (place >= SUMMARY_CAUSES_MAX)
			continue;
		if (summary->causes.count < SUMMARY_CAUSES_MAX &&
		    !array_push(&summary->causes, (struct summary_cause){ 0 }))
			return false;
		size_t moved = summary->causes.count - 1 - place;
		memmove(&summary->causes.items[place + 1], &summary->causes.items[place],
			moved * sizeof *summary->causes.items);
		memmove(&cells[place + 1], &cells[place], moved * sizeof *cells);
		cells[place] = i;
		summary->causes.items[place] = (struct summary_cause){ .function = cell->key.parts[0],
								       .stall_class = cell->key.parts[3],
								       .reason = cell->second,
								       .instruction = cell->frame,
								       .value = cell->value };
	}
	uint64_t most[SUMMARY_CAUSES_MAX] = { 0 };
	for (size_t i = 0; i < making->producers.count; i++) {
		const struct tally *producer = &making->producers.items[i];
		for (size_t k = 0; k < summary->causes.count; k++)
			if (cells[k] == producer->key.parts[0] && producer->value > most[k]) {
				most[k] = producer->value;
				summary->causes.items[k].producer = producer->frame;
			}
	}
	return true;
}

static int compare_positions(const void *left, const void *right, void *context)
{
	const struct summary_function *functions = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	if (functions[a].value != functions[b].value)
		return functions[a].value < functions[b].value ? 1 : -1;
	return strcmp(functions[a].frame->name, functions[b].frame->name);
}

/* Sorts the functions, to whose positions the causes refer. */
static bool sort_functions(struct profile_summary *summary)
{
	size_t count = summary->functions.count;
	uint32_t *order = calloc(count + 1, sizeof *order), *positions = calloc(count + 1, sizeof *positions);
	struct summary_function *sorted = calloc(count + 1, sizeof *sorted);
	bool made = order && positions && sorted;
	for (uint32_t i = 0; made && i < count; i++)
		order[i] = i;
	if (made && count)
		qsort_r(order, count, sizeof *order, compare_positions, summary->functions.items);
	for (uint32_t i = 0; made && i < count; i++) {
		sorted[i] = summary->functions.items[order[i]];
		positions[order[i]] = i;
	}
	for (size_t i = 0; made && i < summary->causes.count; i++)
		summary->causes.items[i].function = positions[summary->causes.items[i].function];
	if (made && count)
		memcpy(summary->functions.items, sorted, count * sizeof *sorted);
	free(order);
	free(positions);
	free(sorted);
	return made;
}

static double samples_per_time(const struct summary_function *kernel)
{
	return (double)kernel->samples / (double)kernel->value;
}

/* A collective uses little of the device by design. */
static bool is_compared(const struct summary_function *kernel)
{
	return kernel->samples && !kernel_class_is_collective(kernel->kernel_class);
}

/* Finds the kernel with the most samples of its time, and compares all with it, after sorting. */
static void find_uses(struct profile_summary *summary)
{
	struct summary_function *functions = summary->functions.items;
	for (size_t i = 0; i < summary->functions.count; i++)
		if (is_compared(&functions[i]) && functions[i].samples >= USE_SAMPLES &&
		    (double)functions[i].value >= FULLEST_SHARE * (double)summary->value &&
		    (!summary->fullest || samples_per_time(&functions[i]) > samples_per_time(summary->fullest)))
			summary->fullest = &functions[i];
	for (size_t i = 0; summary->fullest && i < summary->functions.count; i++) {
		struct summary_function *kernel = &functions[i];
		if (!is_compared(kernel))
			continue;
		kernel->is_use_limit = kernel->samples < USE_SAMPLES;
		double samples = kernel->is_use_limit ? USE_SAMPLES : (double)kernel->samples;
		kernel->use = samples / (double)kernel->value / samples_per_time(summary->fullest);
	}
}

bool profile_summary_is_narrow(const struct profile_summary *summary, const struct summary_function *function)
{
	return function->use > 0 && function->use < NARROW_USE &&
	       (double)function->value >= NARROW_SHARE * (double)summary->value;
}

static struct summary_copy *find_copy(struct making *making, const char *name)
{
	struct profile_summary *summary = making->summary;
	size_t i = 0;
	while (i < summary->copies.count && strcmp(summary->copies.items[i].name, name) != 0)
		i++;
	if (i == SUMMARY_PARTS_MAX)
		return NULL;
	if (i == summary->copies.count && !array_push(&summary->copies, ((struct summary_copy){ .name = name }))) {
		making->failed = true;
		return NULL;
	}
	return &summary->copies.items[i];
}

/* Adds what a kind of copies took, or how much it copied. */
static void add_copies(struct making *making, const struct stack_parts *parts, uint64_t time, uint64_t bytes)
{
	struct summary_copy *copy = parts->kernel ? find_copy(making, parts->kernel->name) : NULL;
	const struct iaprof_frame *launch = parts->launch;
	if (!copy)
		return;
	copy->time = saturating_add(copy->time, time);
	copy->bytes = saturating_add(copy->bytes, bytes);
	uint32_t position =
		launch ? tally_add(making, &making->copies,
				   (struct tally_key){ { text_id(making, copy->name), text_id(making, launch->name),
							 text_id(making, launch->file), launch->line } },
				   time, launch, NULL)
		       : POSITION_NONE;
	if (position != POSITION_NONE && making->copies.items[position].value > copy->launch_time) {
		copy->launch_time = making->copies.items[position].value;
		copy->launch = launch;
	}
}

static int compare_copies(const void *left, const void *right)
{
	const struct summary_copy *a = left, *b = right;
	return a->time != b->time ? (a->time < b->time) - (a->time > b->time) : strcmp(a->name, b->name);
}

/* Returns whether a value type has a role, such as idle time, of the devices of which another one is the time. */
static bool is_beside_time(const struct iaprof_profile *profile, uint32_t value_type, uint32_t role, uint32_t time)
{
	const struct iaprof_value_type *type = iaprof_profile_value_type(profile, value_type),
				       *time_type = iaprof_profile_value_type(profile, time);
	return type->role == role && time_type->role == IAPROF_VALUE_DEVICE_TIME &&
	       type->device_kind == time_type->device_kind;
}

/* Returns why a device was idle: the first wait of a stack. "": not stated. */
static const char *idle_reason(const struct iaprof_profile *profile, const struct iaprof_stack *stack)
{
	/* The last frame is that of idle time as such. */
	for (uint32_t i = 0; i + 1 < stack->frame_count; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, stack->frames[i]);
		if (frame->kind == IAPROF_FRAME_WAIT)
			return frame->name;
	}
	return "";
}

static void add_idle(struct making *making, const struct iaprof_stack *stack, uint64_t value)
{
	struct profile_summary *summary = making->summary;
	const char *reason = idle_reason(summary->profile, stack);
	summary->idle = saturating_add(summary->idle, value);
	if (*reason)
		add_part(making, &summary->idle_reasons, reason, value);
}

int profile_summary_make(struct profile_summary *summary, const struct iaprof_profile *profile, uint32_t value_type)
{
	struct making making = { .summary = summary,
				 .has_classes =
					 profile->frame_count && IAPROF_HAS_MEMBER(iaprof_profile_frame(profile, 0),
										   profile->frame_size, kernel_class) };
	*summary = (struct profile_summary){ .profile = profile, .value_type = value_type };
	summary->is_device = value_type < profile->value_type_count &&
			     value_type_is_of_device(iaprof_profile_value_type(profile, value_type));
	for (size_t i = 0; i < profile->value_count && !making.failed; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		if (is_beside_time(profile, value->value_type, IAPROF_VALUE_DEVICE_IDLE, value_type))
			add_idle(&making, iaprof_profile_stack(profile, value->stack), value->value);
		bool are_samples = is_beside_time(profile, value->value_type, IAPROF_VALUE_DEVICE_SAMPLES, value_type);
		bool is_copy = is_beside_time(profile, value->value_type, IAPROF_VALUE_COPY_TIME, value_type);
		bool are_bytes = is_beside_time(profile, value->value_type, IAPROF_VALUE_COPIED_BYTES, value_type);
		if ((value->value_type != value_type && !are_samples && !is_copy && !are_bytes) || !value->value)
			continue;
		struct stack_parts parts = stack_parts_of(profile, iaprof_profile_stack(profile, value->stack));
		if (are_samples) {
			add_samples(&making, &parts, value->value);
			continue;
		}
		if (is_copy || are_bytes) {
			add_copies(&making, &parts, is_copy ? value->value : 0, are_bytes ? value->value : 0);
			continue;
		}
		summary->value = saturating_add(summary->value, value->value);
		if (summary->is_device)
			add_device(&making, &parts, value->value);
		else
			add_cpu(&making, &parts, value->value);
	}
	sort_parts(&summary->idle_reasons);
	sort_parts(&summary->kernel_classes);
	sort_ranks(&making);
	if (summary->copies.count)
		qsort(summary->copies.items, summary->copies.count, sizeof *summary->copies.items, compare_copies);
	add_other_kernels(&making);
	if (!summary->is_device)
		making.failed |= program_answer_make(&summary->answer, profile, value_type) != 0;
	bool made = !making.failed && find_functions(&making) && find_causes(&making) && sort_functions(summary);
	find_uses(summary);
	keyed_array_free(&making.functions);
	keyed_array_free(&making.cells);
	keyed_array_free(&making.producers);
	keyed_array_free(&making.launches);
	keyed_array_free(&making.samples);
	keyed_array_free(&making.copies);
	string_table_free(&making.names);
	return made ? 0 : -ENOMEM;
}

void profile_summary_free(struct profile_summary *summary)
{
	program_answer_free(&summary->answer);
	array_free(&summary->functions);
	array_free(&summary->idle_reasons);
	array_free(&summary->kernel_classes);
	array_free(&summary->ranks);
	array_free(&summary->copies);
	array_free(&summary->causes);
}
