/* SPDX-License-Identifier: Apache-2.0 */
/* See samples.h. */
#include "samples.h"

#include <stdlib.h>
#include <string.h>

#define LOCATIONS_MAX 1200u /* more than a stack has frames: IAPROF_STACK_DEPTH_MAX, and what surrounds them */

/* What the tables have of a frame, which is in many stacks; 0: not looked up, or none. */
struct known_frame {
	uint32_t function, mapping;
};

/* A stack on its way to a sample. */
struct walk {
	struct tables *tables;
	struct known_frame *known;                 /* by frame */
	struct table_line lines[TABLES_LINES_MAX]; /* of the place that is being put together, the outermost first */
	uint32_t line_count;
	uint32_t mapping;
	uint64_t address;
	bool is_instruction;
	const char *source; /* of the device's functions */
	const char *kernel;
	uint32_t locations[LOCATIONS_MAX]; /* the root first */
	uint32_t count;
	uint32_t pid, reason;
	bool is_of_device;
};

static void place_end(struct walk *walk)
{
	if (!walk->line_count)
		return;
	struct table_line lines[TABLES_LINES_MAX];
	for (uint32_t i = 0; i < walk->line_count; i++)
		lines[i] = walk->lines[walk->line_count - 1 - i];
	if (walk->count < LOCATIONS_MAX)
		walk->locations[walk->count++] =
			tables_location(walk->tables, walk->mapping, walk->address, lines, walk->line_count);
	walk->line_count = 0;
	walk->is_instruction = false;
}

static uint32_t device_mapping(struct walk *walk)
{
	struct text name = { 0 };
	text_append_string(&name, "GPU kernel ");
	text_append_string(&name, walk->kernel ? walk->kernel : "[unknown]");
	text_append(&name, "", 1);
	walk->tables->failed |= name.failed;
	uint32_t mapping = name.failed ? 0 : tables_mapping(walk->tables, name.data);
	text_free(&name);
	return mapping;
}

static void cpu_line_add(struct walk *walk, const struct iaprof_frame *frame, struct known_frame *known)
{
	if (!(frame->flags & IAPROF_FRAME_INLINED && walk->line_count && walk->line_count < TABLES_LINES_MAX)) {
		place_end(walk);
		if (!known->mapping)
			known->mapping = tables_mapping(walk->tables, frame->module);
		walk->mapping = known->mapping;
		walk->address = frame->kind == IAPROF_FRAME_PROCESS ? 0 : frame->address;
	}
	if (!known->function)
		known->function = tables_function(walk->tables, frame->name, frame->file);
	walk->lines[walk->line_count++] = (struct table_line){ .function = known->function, .line = frame->line };
}

static void device_line_add(struct walk *walk, const struct iaprof_frame *frame)
{
	if (!(frame->flags & IAPROF_FRAME_INLINED && walk->line_count && walk->line_count < TABLES_LINES_MAX)) {
		place_end(walk);
		walk->mapping = device_mapping(walk);
		walk->address = 0;
	}
	const char *file = frame->file ? frame->file : walk->source;
	walk->lines[walk->line_count++] =
		(struct table_line){ .function = tables_function(walk->tables, frame->name, file),
				     .line = frame->line };
}

static void frame_take(struct walk *walk, const struct iaprof_frame *frame, struct known_frame *known)
{
	switch (frame->kind) {
	case IAPROF_FRAME_PROCESS:
		walk->pid = frame->pid;
		cpu_line_add(walk, frame, known);
		return;
	case IAPROF_FRAME_SEPARATOR:
		return;
	case IAPROF_FRAME_DEVICE_SOURCE:
		walk->source = frame->name;
		return;
	case IAPROF_FRAME_DEVICE_FUNCTION:
		walk->is_of_device = true;
		if (!walk->kernel)
			walk->kernel = frame->name;
		device_line_add(walk, frame);
		return;
	case IAPROF_FRAME_DEVICE_INSTRUCTION:
		device_line_add(walk, frame);
		walk->is_instruction = true;
		return;
	case IAPROF_FRAME_STALL_REASON:
		walk->is_of_device = true;
		walk->reason = tables_text(walk->tables, frame->name);
		return;
	case IAPROF_FRAME_DEVICE_OFFSET:
		if (walk->is_instruction)
			walk->address = frame->offset;
		return;
	default:
		cpu_line_add(walk, frame, known);
	}
}

/* Inlined frames and what instructions wait for come only when a sink asked; the latter are no callers. */
static void stack_walk(struct walk *walk, const struct iaprof_profile *profile, uint32_t index)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, index);
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, stack->frames[i]);
		if (!(frame->flags & IAPROF_FRAME_PRODUCER))
			frame_take(walk, frame, &walk->known[stack->frames[i]]);
	}
	place_end(walk);
}

static uint64_t hash_of_sample(const struct hash_key *key, const struct sample *sample, const uint32_t *locations)
{
	const uint64_t words[HASH_WORDS_MAX] = { (uint64_t)sample->reason << 32 | sample->pid,
						 hash_bytes(locations, sample->count * sizeof *locations) };
	return hash_words(key, words);
}

static const uint32_t *locations_of(const struct samples *samples, const struct sample *sample)
{
	return (const uint32_t *)samples->locations.items + sample->first;
}

struct wanted_sample {
	struct sample sample;
	const uint32_t *locations;
};

static bool sample_is_equal(const void *context, uint32_t position, const void *wanted)
{
	const struct samples *samples = context;
	const struct sample *left = (const struct sample *)samples->items.items + position;
	const struct wanted_sample *right = wanted;
	return left->reason == right->sample.reason && left->pid == right->sample.pid &&
	       left->count == right->sample.count &&
	       memcmp(locations_of(samples, left), right->locations, left->count * sizeof *right->locations) == 0;
}

/* Its position, plus 1; 0: out of memory. */
static uint32_t sample_get(struct samples *samples, const struct walk *walk)
{
	const struct item_owner owner = { .is_equal = sample_is_equal, .context = samples };
	uint32_t leaf_first[LOCATIONS_MAX];
	for (uint32_t i = 0; i < walk->count; i++)
		leaf_first[i] = walk->locations[walk->count - 1 - i];
	const struct wanted_sample wanted = { .sample = { .first = (uint32_t)samples->locations.count,
							  .count = walk->count,
							  .reason = samples->by_reason ? 0 : walk->reason,
							  .pid = walk->pid },
					      .locations = leaf_first };
	uint32_t *slot = item_index_find(
		&samples->items.index, &owner,
		hash_of_sample(item_index_key(&samples->items.index), &wanted.sample, leaf_first), &wanted);
	if (!slot || *slot)
		return slot ? *slot : 0;
	struct sample *sample = table_push(&samples->items, sizeof *sample);
	if (!sample)
		return 0;
	for (uint32_t i = 0; i < walk->count; i++) {
		uint32_t *location = table_push(&samples->locations, sizeof *location);
		if (!location)
			return 0;
		*location = leaf_first[i];
		samples->locations.count++;
	}
	*sample = wanted.sample;
	*slot = (uint32_t)++samples->items.count;
	samples->items.index.used++;
	return *slot;
}

/* There are few. Its position, plus 1; 0: out of memory. */
static uint32_t type_get(struct samples *samples, uint32_t value_type, uint32_t reason)
{
	const struct sample_type *types = samples->types.items;
	for (uint32_t i = 0; i < samples->types.count; i++)
		if (types[i].value_type == value_type && types[i].reason == reason)
			return i + 1;
	struct sample_type *type = table_push(&samples->types, sizeof *type);
	if (!type)
		return 0;
	*type = (struct sample_type){ .value_type = value_type, .reason = reason };
	return (uint32_t)++samples->types.count;
}

static bool value_take(struct samples *samples, struct known_frame *known, const struct iaprof_value *value)
{
	struct walk walk = { .tables = &samples->tables, .known = known };
	stack_walk(&walk, samples->profile, value->stack);
	if (samples->tables.failed)
		return false;
	uint32_t type = type_get(samples, value->value_type, samples->by_reason ? walk.reason : 0);
	uint32_t sample = sample_get(samples, &walk);
	struct sample_value *item = table_push(&samples->values, sizeof *item);
	if (!type || !sample || !item)
		return false;
	if (walk.is_of_device && !samples->device_type)
		samples->device_type = type;
	*item = (struct sample_value){ .sample = sample - 1, .type = type - 1, .value = value->value };
	samples->values.count++;
	return true;
}

bool samples_make(struct samples *samples, const struct iaprof_profile *profile, bool by_reason)
{
	*samples = (struct samples){ .profile = profile, .by_reason = by_reason };
	tables_init(&samples->tables);
	struct known_frame *known = calloc(profile->frame_count + 1, sizeof *known);
	bool good = known && !samples->tables.failed;
	for (uint32_t i = 0; good && !by_reason && i < profile->value_type_count; i++)
		good = type_get(samples, i, 0) != 0;
	for (size_t i = 0; good && i < profile->value_count; i++)
		good = value_take(samples, known, iaprof_profile_value(profile, i));
	free(known);
	return good;
}

void samples_free(struct samples *samples)
{
	tables_free(&samples->tables);
	free(samples->types.items);
	free(samples->items.items);
	free(samples->items.index.slots);
	free(samples->locations.items);
	free(samples->values.items);
}
