/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a profile out of the collector's tables: see snapshot.h. */
#include "profile/snapshot.h"

#include <stdlib.h>
#include <string.h>

struct snapshot *snapshot_reference(struct snapshot *snapshot)
{
	atomic_fetch_add_explicit(&snapshot->references, 1, memory_order_relaxed);
	return snapshot;
}

void snapshot_release(struct snapshot *snapshot)
{
	if (!snapshot || atomic_fetch_sub_explicit(&snapshot->references, 1, memory_order_acq_rel) != 1)
		return;
	free(snapshot->frames);
	free(snapshot->stacks);
	free(snapshot->stack_frames);
	free(snapshot->value_types);
	free(snapshot->values);
	free(snapshot->times);
	free(snapshot->time_totals);
	free(snapshot->lost);
	free(snapshot->modules);
	free(snapshot->metadata);
	free(snapshot);
}

/* A copy of count items, or zeros when items is NULL; NULL only when out of memory. */
static void *copy_array(struct snapshot *snapshot, const void *items, size_t count, size_t size)
{
	void *copy = calloc(count ? count : 1, size);
	snapshot->size += count * size;
	if (copy && items && count)
		memcpy(copy, items, count * size);
	return copy;
}

/* Texts are those of the account, which outlives the snapshot and every sink. */
static void copy_loss(struct snapshot *snapshot, const struct loss *loss)
{
	struct iaprof_profile *profile = &snapshot->profile;
	for (size_t i = 0; i < loss->entries.count; i++) {
		const struct loss_entry *entry = &loss->entries.items[i];
		bool total = profile->flags & IAPROF_PROFILE_TOTAL;
		if (!total && !entry->interval_count && !entry->interval_value && !entry->interval_unknown)
			continue;
		struct iaprof_lost *lost = &snapshot->lost[profile->lost_count++];
		uint64_t unknown = total ? entry->unknown : entry->interval_unknown;
		*lost = (struct iaprof_lost){ .source = entry->source,
					      .reason = entry->reason,
					      .count = total ? entry->count : entry->interval_count,
					      .value = total ? entry->value : entry->interval_value,
					      .value_type = entry->value_type,
					      .unknown = unknown > UINT32_MAX ? UINT32_MAX : (uint32_t)unknown,
					      .begin = entry->begin,
					      .end = entry->end };
	}
}

static bool copy_stacks(struct snapshot *snapshot, const struct frame_table *table)
{
	snapshot->frames = copy_array(snapshot, table->frames.items, table->frames.count, sizeof *snapshot->frames);
	snapshot->stack_frames = copy_array(snapshot, table->stack_frames.items, table->stack_frames.count,
					    sizeof *snapshot->stack_frames);
	snapshot->stacks = copy_array(snapshot, NULL, table->stacks.count, sizeof *snapshot->stacks);
	snapshot->modules = copy_array(snapshot, table->modules.items, table->modules.count, sizeof *snapshot->modules);
	if (!snapshot->frames || !snapshot->stack_frames || !snapshot->stacks || !snapshot->modules)
		return false;
	for (size_t i = 0; i < table->stacks.count; i++)
		snapshot->stacks[i] =
			(struct iaprof_stack){ .frames = snapshot->stack_frames + table->stacks.items[i].first,
					       .frame_count = table->stacks.items[i].frame_count };
	snapshot->profile.frame_count = table->frames.count;
	snapshot->profile.stack_count = table->stacks.count;
	snapshot->profile.modules = snapshot->modules;
	snapshot->profile.module_count = table->modules.count;
	snapshot->profile.module_size = sizeof *snapshot->modules;
	return true;
}

static bool copy_values(struct snapshot *snapshot, const struct value_table *table)
{
	snapshot->values = copy_array(snapshot, NULL, table->entries.count, sizeof *snapshot->values);
	if (!snapshot->values)
		return false;
	bool total = snapshot->profile.flags & IAPROF_PROFILE_TOTAL;
	for (size_t i = 0; i < table->entries.count; i++) {
		const struct value_entry *entry = &table->entries.items[i];
		const struct value_sum *sum = total ? &entry->total : &entry->interval;
		if (sum->value || sum->count)
			snapshot->values[snapshot->profile.value_count++] =
				(struct iaprof_value){ .stack = entry->stack,
						       .value_type = entry->value_type,
						       .value = sum->value,
						       .count = sum->count };
	}
	return true;
}

/* Slots have the time at which they begin. */
static struct iaprof_time_value *copy_sums(struct snapshot *snapshot, const struct time_table *table,
					   const struct time_sums *sums)
{
	struct iaprof_time_value *copy = copy_array(snapshot, sums->items.items, sums->items.count, sizeof *copy);
	for (size_t i = 0; copy && i < sums->items.count; i++)
		copy[i].time *= time_sums_width(table, sums);
	return copy;
}

static bool copy_times(struct snapshot *snapshot, const struct time_table *table)
{
	struct iaprof_profile *profile = &snapshot->profile;
	if (!table || !table->resolution || !(profile->flags & IAPROF_PROFILE_TOTAL))
		return true;
	snapshot->times = copy_sums(snapshot, table, &table->stacks);
	snapshot->time_totals = copy_sums(snapshot, table, &table->totals);
	profile->times = snapshot->times;
	profile->time_count = table->stacks.items.count;
	profile->time_width = time_sums_width(table, &table->stacks);
	profile->time_totals = snapshot->time_totals;
	profile->time_total_count = table->totals.items.count;
	profile->total_width = time_sums_width(table, &table->totals);
	profile->time_size = sizeof *snapshot->times;
	for (size_t i = 0; i < table->added_up_over.count && i < profile->value_type_count; i++)
		snapshot->value_types[i].added_up_over = table->added_up_over.items[i];
	return snapshot->times && snapshot->time_totals;
}

struct snapshot *snapshot_new(const struct snapshot_content *content)
{
	struct snapshot *snapshot = calloc(1, sizeof *snapshot);
	if (!snapshot)
		return NULL;
	atomic_init(&snapshot->references, 1);
	snapshot->size = sizeof *snapshot + (content->metadata_count + 1) * sizeof *snapshot->metadata;
	struct iaprof_profile *profile = &snapshot->profile;
	profile->flags = content->total ? IAPROF_PROFILE_TOTAL : 0;
	snapshot->value_types =
		copy_array(snapshot, content->value_types, content->value_type_count, sizeof *snapshot->value_types);
	snapshot->lost = copy_array(snapshot, NULL, content->loss->entries.count, sizeof *snapshot->lost);
	snapshot->metadata = calloc(content->metadata_count + 1, sizeof *snapshot->metadata);
	profile->value_type_count = content->value_type_count;
	if (!snapshot->value_types || !snapshot->lost || !snapshot->metadata ||
	    !copy_stacks(snapshot, content->frames) || !copy_values(snapshot, content->values) ||
	    !copy_times(snapshot, content->times)) {
		snapshot_release(snapshot);
		return NULL;
	}
	copy_loss(snapshot, content->loss);
	if (content->metadata_count)
		memcpy(snapshot->metadata, content->metadata, content->metadata_count * sizeof *snapshot->metadata);
	profile->size = sizeof *profile;
	profile->frames = snapshot->frames;
	profile->frame_size = sizeof *snapshot->frames;
	profile->stacks = snapshot->stacks;
	profile->stack_size = sizeof *snapshot->stacks;
	profile->value_types = snapshot->value_types;
	profile->value_type_size = sizeof *snapshot->value_types;
	profile->values = snapshot->values;
	profile->value_size = sizeof *snapshot->values;
	profile->lost = snapshot->lost;
	profile->lost_size = sizeof *snapshot->lost;
	profile->metadata = snapshot->metadata;
	return snapshot;
}
