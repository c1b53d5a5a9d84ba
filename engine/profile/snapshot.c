/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a profile out of the collector's tables: see snapshot.h. */
#include "profile/snapshot.h"

#include <stdlib.h>

#include "profile/sampled_time.h"

/* Owns the profile's arrays, and shares the texts of frames. */
struct profile_copy {
	struct snapshot shared;
	struct snapshot_memory memory;
	struct frame_texts *texts;
	struct iaprof_activity activity;       /* belongs to the profile, if requested */
	struct iaprof_value_type *value_types; /* belongs to the profile */
};

static void free_copy(struct snapshot *shared)
{
	struct profile_copy *snapshot = (struct profile_copy *)shared;
	snapshot_memory_free(&snapshot->memory);
	frame_texts_release(snapshot->texts);
	free(snapshot);
}

static void copy_loss(struct profile_copy *snapshot, const struct loss *loss)
{
	struct iaprof_profile *profile = &snapshot->shared.profile;
	struct iaprof_lost *copies = snapshot_allocate(&snapshot->memory, loss->entries.count, sizeof *copies);
	profile->lost = copies;
	profile->lost_size = sizeof *copies;
	for (size_t i = 0; copies && i < loss->entries.count; i++) {
		const struct loss_entry *entry = &loss->entries.items[i];
		bool total = profile->flags & IAPROF_PROFILE_TOTAL;
		if (!total && !entry->interval_count && !entry->interval_value && !entry->interval_unknown)
			continue;
		uint64_t unknown = total ? entry->unknown : entry->interval_unknown;
		copies[profile->lost_count++] =
			(struct iaprof_lost){ .source = entry->source,
					      .reason = entry->reason,
					      .count = total ? entry->count : entry->interval_count,
					      .value = total ? entry->value : entry->interval_value,
					      .value_type = entry->value_type,
					      .unknown = unknown > UINT32_MAX ? UINT32_MAX : (uint32_t)unknown,
					      .begin = entry->begin,
					      .end = entry->end };
	}
}

/* Longest name of a device with what distinguishes it from others, including the NUL. */
#define DEVICE_NAME_SIZE 256

/* Returns the names of all devices; NULL if there are none. Equal names have the same address. */
static const char **copy_device_names(struct profile_copy *snapshot, const struct sampled_devices *devices)
{
	size_t count = devices ? devices->items.count : 0;
	char *texts = count ? snapshot_allocate(&snapshot->memory, count, DEVICE_NAME_SIZE) : NULL;
	const char **names = count ? snapshot_allocate(&snapshot->memory, count, sizeof *names) : NULL;
	for (size_t i = 0; texts && names && i < count; i++) {
		sampled_device_name(devices->items.items, count, i, texts + i * DEVICE_NAME_SIZE, DEVICE_NAME_SIZE);
		names[i] = texts + sampled_devices_main(devices, i) * DEVICE_NAME_SIZE;
	}
	return texts ? names : NULL;
}

static struct iaprof_stack_origin copy_origin(const struct stack_origin *origin, const char **device_names)
{
	return (struct iaprof_stack_origin){
		.thread = origin->thread,
		.tid = origin->tid,
		.device = origin->device && device_names ? device_names[origin->device - 1] : NULL,
	};
}

static struct iaprof_span copy_span(const struct frame_table *table, const struct stack_origin *origin)
{
	return origin->span ? table->spans.items[origin->span - 1].key : (struct iaprof_span){ 0 };
}

static void copy_stacks(struct profile_copy *snapshot, const struct frame_table *table,
			const struct sampled_devices *devices)
{
	const char **device_names = copy_device_names(snapshot, devices);
	struct snapshot_memory *memory = &snapshot->memory;
	struct iaprof_profile *profile = &snapshot->shared.profile;
	const uint32_t *stack_frames = snapshot_copy(memory, table->stack_frames.items, table->stack_frames.count,
						     sizeof *table->stack_frames.items);
	struct iaprof_stack *stacks = snapshot_allocate(memory, table->stacks.count, sizeof *stacks);
	for (size_t i = 0; stack_frames && stacks && i < table->stacks.count; i++)
		stacks[i] = (struct iaprof_stack){ .frames = stack_frames + table->stacks.items[i].first,
						   .frame_count = table->stacks.items[i].frame_count,
						   .origin = copy_origin(&table->stacks.items[i].origin, device_names),
						   .span = copy_span(table, &table->stacks.items[i].origin) };
	profile->stacks = stacks;
	profile->stack_count = table->stacks.count;
	profile->stack_size = sizeof *stacks;
	profile->frames = snapshot_copy(memory, table->frames.items, table->frames.count, sizeof *table->frames.items);
	profile->frame_count = table->frames.count;
	profile->frame_size = sizeof *table->frames.items;
	profile->modules =
		snapshot_copy(memory, table->modules.items, table->modules.count, sizeof *table->modules.items);
	profile->module_count = table->modules.count;
	profile->module_size = sizeof *table->modules.items;
}

static void copy_values(struct profile_copy *snapshot, const struct value_table *table)
{
	struct iaprof_profile *profile = &snapshot->shared.profile;
	struct iaprof_value *copies = snapshot_allocate(&snapshot->memory, table->entries.count, sizeof *copies);
	bool total = profile->flags & IAPROF_PROFILE_TOTAL;
	for (size_t i = 0; copies && i < table->entries.count; i++) {
		const struct value_entry *entry = &table->entries.items[i];
		const struct value_sum *sum = total ? &entry->total : &entry->interval;
		if (sum->value || sum->count)
			copies[profile->value_count++] = (struct iaprof_value){ .stack = entry->key.stack,
										.value_type = entry->key.value_type,
										.value = sum->value,
										.count = sum->count };
	}
	profile->values = copies;
	profile->value_size = sizeof *copies;
}

/* Converts the numbers of slots to the times at which they begin. */
static struct iaprof_time_value *copy_sums(struct profile_copy *snapshot, const struct time_table *table,
					   const struct time_sums *sums)
{
	struct iaprof_time_value *copy =
		snapshot_copy(&snapshot->memory, sums->items.items, sums->items.count, sizeof *copy);
	for (size_t i = 0; copy && i < sums->items.count; i++)
		copy[i].time *= time_sums_width(table, sums);
	return copy;
}

static void copy_times(struct profile_copy *snapshot, const struct time_table *table)
{
	struct iaprof_profile *profile = &snapshot->shared.profile;
	if (!table || !table->resolution || !(profile->flags & IAPROF_PROFILE_TOTAL))
		return;
	profile->times = copy_sums(snapshot, table, &table->stacks);
	profile->time_count = table->stacks.items.count;
	profile->time_width = time_sums_width(table, &table->stacks);
	profile->time_totals = copy_sums(snapshot, table, &table->totals);
	profile->time_total_count = table->totals.items.count;
	profile->total_width = time_sums_width(table, &table->totals);
	profile->time_size = sizeof(struct iaprof_time_value);
	for (size_t i = 0; snapshot->value_types && i < table->added_up_over.count && i < profile->value_type_count;
	     i++)
		snapshot->value_types[i].added_up_over = table->added_up_over.items[i];
}

struct snapshot *snapshot_new(const struct snapshot_content *content)
{
	struct profile_copy *snapshot = calloc(1, sizeof *snapshot);
	if (!snapshot)
		return NULL;
	atomic_init(&snapshot->shared.references, 1);
	snapshot->shared.free = free_copy;
	snapshot->texts = frame_texts_reference(content->frames->texts);
	struct iaprof_profile *profile = &snapshot->shared.profile;
	profile->size = sizeof *profile;
	profile->flags = content->total ? IAPROF_PROFILE_TOTAL : 0;
	profile->value_types = snapshot->value_types = snapshot_copy(
		&snapshot->memory, content->value_types, content->value_type_count, sizeof *snapshot->value_types);
	profile->value_type_count = content->value_type_count;
	profile->value_type_size = sizeof *snapshot->value_types;
	/* NULL-terminated. */
	const char **metadata = snapshot_allocate(&snapshot->memory, content->metadata_count + 1, sizeof *metadata);
	for (size_t i = 0; metadata && i < content->metadata_count; i++)
		metadata[i] = content->metadata[i];
	profile->metadata = metadata;
	copy_stacks(snapshot, content->frames, content->devices);
	copy_values(snapshot, content->values);
	copy_times(snapshot, content->times);
	sampled_time_divide(profile, &snapshot->memory);
	copy_loss(snapshot, content->loss);
	if (content->activity) {
		run_activity_copy(content->activity, content->timeline, &snapshot->memory, &snapshot->activity);
		profile->activity = &snapshot->activity;
	}
	snapshot->shared.size = sizeof *snapshot + snapshot->memory.size;
	if (!snapshot->memory.failed)
		return &snapshot->shared;
	free_copy(&snapshot->shared);
	return NULL;
}
