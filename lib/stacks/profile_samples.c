/* SPDX-License-Identifier: Apache-2.0 */
/* See samples.h. */
#include "stacks/profile_samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturating.h"
#include "stacks/stack_text.h"
#include "stacks/value_choice.h"
#include "stacks/value_label.h"
#include "text/printable.h"

/* Cached ids of a frame; 0: not looked up, or none. */
struct known_frame {
	const char *file; /* source file of the function */
	uint32_t function, mapping;
	uint32_t location; /* location of the frame without inlined functions */
};

/* A stack being converted to a sample. */
struct walk {
	struct profile_tables *tables;
	struct known_frame *known; /* by frame */
	struct table_line
		lines[PROFILE_TABLES_LINES_MAX]; /* lines of the location under construction, the outermost first */
	uint32_t line_count;
	uint32_t mapping, kind;
	uint64_t address;
	struct known_frame *first; /* frame of the first line; NULL: a device's */
	bool is_instruction;
	const char *source; /* source file of the device's functions */
	const char *kernel;
	uint32_t device_kind;                             /* enum iaprof_device_kind, of the value */
	struct known_frame *known_kernel;                 /* has the mapping of its code */
	uint32_t locations[PROFILE_TABLES_LOCATIONS_MAX]; /* the root first */
	uint32_t count;
	bool without_program;
	uint32_t pid, reason, name;
	uint32_t program; /* mapping of the program's file; 0: not in the stack */
};

static uint32_t location_find(struct walk *walk)
{
	struct table_location location = {
		.address = walk->address, .mapping = walk->mapping, .kind = walk->kind, .count = walk->line_count
	};
	for (uint32_t i = 0; i < walk->line_count; i++)
		location.lines[i] = walk->lines[walk->line_count - 1 - i];
	return profile_tables_location(walk->tables, &location);
}

static void location_end(struct walk *walk)
{
	if (!walk->line_count)
		return;
	struct known_frame *known = walk->line_count == 1 ? walk->first : NULL;
	uint32_t location = known && known->location ? known->location : location_find(walk);
	if (known)
		known->location = location;
	if (walk->count < PROFILE_TABLES_LOCATIONS_MAX)
		walk->locations[walk->count++] = location;
	walk->line_count = 0;
	walk->is_instruction = false;
}

static uint32_t device_mapping(struct walk *walk)
{
	struct text name = { 0 };
	if (walk->known_kernel && walk->known_kernel->mapping)
		return walk->known_kernel->mapping;
	text_append_format(&name, "%s kernel %s", device_kind_word(walk->device_kind),
			   walk->kernel ? walk->kernel : "[unknown]");
	uint32_t mapping = profile_tables_mapping(walk->tables, text_string(&name));
	walk->tables->failed |= name.failed;
	text_free(&name);
	if (walk->known_kernel)
		walk->known_kernel->mapping = mapping;
	return mapping;
}

static void line_add(struct walk *walk, const struct iaprof_frame *frame, struct known_frame *known, const char *file)
{
	if (!known->function || known->file != file) {
		known->function = profile_tables_function(walk->tables, frame, file);
		known->file = file;
	}
	walk->lines[walk->line_count++] = (struct table_line){ .function = known->function, .line = frame->line };
}

/* Begins a location, unless the frame is inlined into the current one. Returns whether it began one. */
static bool location_begin(struct walk *walk, const struct iaprof_frame *frame, struct known_frame *known)
{
	if (frame->flags & IAPROF_FRAME_INLINED && walk->line_count && walk->line_count < PROFILE_TABLES_LINES_MAX)
		return false;
	location_end(walk);
	walk->first = known;
	walk->kind = frame->kind;
	walk->address = 0;
	return true;
}

/* Libraries are named lib.so or lib.so.1, and the Linux kernel and its pages have names in brackets. */
static bool is_program_file(const char *path)
{
	const char *name = path_name(path);
	const char *library = strstr(name, ".so");
	return *name && *name != '[' && !(library && (!library[3] || library[3] == '.'));
}

static void cpu_line_add(struct walk *walk, const struct iaprof_frame *frame, struct known_frame *known)
{
	if (location_begin(walk, frame, known)) {
		if (!known->mapping)
			known->mapping = profile_tables_mapping(walk->tables, frame->module);
		walk->mapping = known->mapping;
		if (!walk->program && frame->kind == IAPROF_FRAME_USER && frame->module &&
		    is_program_file(frame->module))
			walk->program = known->mapping;
		walk->address = frame->kind == IAPROF_FRAME_PROCESS ? 0 : frame->address;
	}
	line_add(walk, frame, known, frame->file);
}

static void device_line_add(struct walk *walk, const struct iaprof_frame *frame, struct known_frame *known)
{
	if (location_begin(walk, frame, NULL))
		walk->mapping = device_mapping(walk);
	line_add(walk, frame, known, frame->file ? frame->file : walk->source);
}

static void frame_take(struct walk *walk, const struct iaprof_frame *frame, struct known_frame *known)
{
	switch (frame->kind) {
	case IAPROF_FRAME_PROCESS:
		walk->pid = frame->pid;
		walk->name = profile_tables_text(walk->tables, frame->name);
		if (!walk->without_program)
			cpu_line_add(walk, frame, known);
		return;
	case IAPROF_FRAME_SEPARATOR:
		return;
	case IAPROF_FRAME_DEVICE_SOURCE:
		walk->source = frame->name;
		return;
	case IAPROF_FRAME_DEVICE_FUNCTION:
		if (!walk->kernel) {
			walk->kernel = frame->name;
			walk->known_kernel = known;
		}
		device_line_add(walk, frame, known);
		return;
	case IAPROF_FRAME_DEVICE_INSTRUCTION:
		device_line_add(walk, frame, known);
		walk->is_instruction = true;
		return;
	case IAPROF_FRAME_STALL_REASON:
		walk->reason = profile_tables_text(walk->tables, frame->name);
		return;
	case IAPROF_FRAME_DEVICE_OFFSET:
		if (walk->is_instruction)
			walk->address = frame->offset;
		return;
	default:
		cpu_line_add(walk, frame, known);
	}
}

/* Frames that only another sink requested are hidden, and so are producers, which are not callers. */
static void stack_walk(struct walk *walk, const struct iaprof_profile *profile, uint32_t index,
		       const struct stack_text_options *options)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, index);
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, stack->frames[i]);
		if (!stack_text_frame_is_hidden(frame, options))
			frame_take(walk, frame, &walk->known[stack->frames[i]]);
	}
	location_end(walk);
}

/* Returns the class of the kernel that was met; NULL: none. */
static const char *class_of(const struct iaprof_profile *profile, const struct walk *walk)
{
	return walk->known_kernel ? iaprof_profile_kernel_class(profile, (uint32_t)(walk->known_kernel - walk->known))
				  : NULL;
}

static uint32_t sample_find(struct profile_samples *samples, const struct walk *walk, uint32_t stack)
{
	struct iaprof_stack_origin origin = iaprof_profile_stack(samples->profile, stack)->origin;
	struct table_sample sample;
	sample.reason = samples->options.by_reason ? 0 : walk->reason;
	sample.program = walk->name;
	sample.pid = walk->pid;
	sample.tid = origin.tid;
	sample.thread = profile_tables_text(&samples->tables, origin.thread);
	sample.device = profile_tables_text(&samples->tables, origin.device);
	sample.class = profile_tables_text(&samples->tables, class_of(samples->profile, walk));
	sample.span = samples->options.spans ? profile_tables_span(&samples->tables,
								   iaprof_profile_stack_span(samples->profile, stack))
					     : 0;
	sample.count = walk->count;
	for (uint32_t i = 0; i < walk->count; i++)
		sample.locations[i] = walk->locations[walk->count - 1 - i];
	return profile_tables_sample(&samples->tables, &sample);
}

/* Linear search, because there are few. Returns the position plus 1; 0: out of memory. */
static uint32_t type_get(struct profile_samples *samples, uint32_t value_type, uint32_t reason)
{
	for (uint32_t i = 0; i < samples->types.count; i++)
		if (samples->types.items[i].value_type == value_type && samples->types.items[i].reason == reason)
			return i + 1;
	const struct sample_type type = { .value_type = value_type, .reason = reason };
	return array_push(&samples->types, type) ? (uint32_t)samples->types.count : 0;
}

/* Linear search, because few programs run at once. */
static bool program_add(struct profile_samples *samples, uint32_t mapping, uint64_t value)
{
	for (size_t i = 0; i < samples->programs.count; i++)
		if (samples->programs.items[i].mapping == mapping) {
			saturating_increase(&samples->programs.items[i].value, value);
			return true;
		}
	const struct sample_program program = { .mapping = mapping, .value = value };
	return array_push(&samples->programs, program);
}

static bool value_take(struct profile_samples *samples, struct known_frame *known, const struct iaprof_value *value,
		       uint32_t shown)
{
	struct walk walk = { .tables = &samples->tables,
			     .known = known,
			     .device_kind = iaprof_profile_value_type(samples->profile, value->value_type)->device_kind,
			     .without_program = samples->options.without_programs };
	stack_walk(&walk, samples->profile, value->stack, &samples->options.text);
	uint32_t type = type_get(samples, value->value_type, samples->options.by_reason ? walk.reason : 0);
	const struct sample_value item = { .sample = sample_find(samples, &walk, value->stack),
					   .type = type - 1,
					   .value = value->value,
					   .count = value->count };
	if (value->value_type == shown && !samples->shown_type)
		samples->shown_type = type;
	if (walk.program && value->value_type == shown && !program_add(samples, walk.program, value->value))
		return false;
	return type && !samples->tables.failed && array_push(&samples->values, item);
}

bool profile_samples_make(struct profile_samples *samples, const struct iaprof_profile *profile,
			  const struct profile_samples_options *options)
{
	*samples = (struct profile_samples){ .profile = profile, .options = *options };
	struct known_frame *known = calloc(profile->frame_count + 1, sizeof *known);
	bool good = known != NULL;
	for (uint32_t i = 0; good && !options->by_reason && i < profile->value_type_count; i++)
		good = type_get(samples, i, 0) != 0;
	uint32_t shown = value_type_best(profile);
	for (size_t i = 0; good && i < profile->value_count; i++)
		good = value_take(samples, known, iaprof_profile_value(profile, i), shown);
	free(known);
	return good;
}

uint32_t profile_samples_main_mapping(const struct profile_samples *samples)
{
	const struct sample_program *best = NULL;
	for (size_t i = 0; i < samples->programs.count; i++)
		if (!best || samples->programs.items[i].value > best->value)
			best = &samples->programs.items[i];
	return best ? best->mapping : samples->tables.mappings.count ? 1 : 0;
}

void profile_samples_free(struct profile_samples *samples)
{
	profile_tables_free(&samples->tables);
	array_free(&samples->types);
	array_free(&samples->values);
	array_free(&samples->programs);
}
