/* SPDX-License-Identifier: Apache-2.0 */
/* Sums attributed samples by stack, and adds them to the profile: see device_stacks.h. */
#include "correlator/device_stacks.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/saturating.h"
#include "symbolizer/frame_record.h"

/* Limit on entries and locations; beyond it, all are removed after a flush. */
#define ENTRIES_MAX 262144

/* Depth limit of a stack: the CPU part, which stack_builder.h limits, and the device part. */
#define FRAMES_MAX 4608

static void clear(struct device_stacks *stacks)
{
	keyed_array_free(&stacks->entries);
	array_free(&stacks->sums);
	code_locations_clear(stacks->locations);
}

void device_stacks_free(struct device_stacks *stacks)
{
	keyed_array_free(&stacks->entries);
	array_free(&stacks->sums);
	array_free(&stacks->sent);
	time_values_free(&stacks->waiting_times);
}

void device_stacks_forget(struct device_stacks *stacks)
{
	clear(stacks);
	stacks->sent_before += (uint32_t)stacks->sent.count;
	array_free(&stacks->sent);
}

/* Returns the position of a key's entry; DEVICE_STACKS_ENTRY_NONE when out of memory. */
static uint32_t entry_for(struct device_stacks *stacks, const struct device_stack_key *key)
{
	struct device_stack added = { .key = *key, .sums = (uint32_t)stacks->sums.count };
	size_t count = stacks->entries.count;
	uint32_t position = array_reserve(&stacks->sums, stacks->sums.count + key->reasons)
				    ? keyed_array_add(&stacks->entries, &added)
				    : POSITION_NONE;
	if (position == POSITION_NONE)
		return DEVICE_STACKS_ENTRY_NONE;
	for (size_t i = 0; stacks->entries.count > count && i < key->reasons; i++)
		stacks->sums.items[stacks->sums.count++] =
			(struct device_stacks_sum){ .stack = FRAME_NONE, .times = TIME_VALUE_NONE };
	return position;
}

void device_stacks_add(struct device_stacks *stacks, const struct device_stack_key *key, uint32_t *entry,
		       uint32_t reason, uint64_t begin, uint64_t end, uint64_t count, uint64_t value)
{
	if (*entry == DEVICE_STACKS_ENTRY_NONE)
		*entry = entry_for(stacks, key);
	struct device_stacks_sum *sum = *entry == DEVICE_STACKS_ENTRY_NONE
						? NULL
						: &stacks->sums.items[stacks->entries.items[*entry].sums + reason];
	if (!sum || !time_values_add(&stacks->waiting_times, &sum->times, begin, end, value, count)) {
		stacks->out_of_memory = saturating_add(stacks->out_of_memory, count);
		return;
	}
	sum->count = saturating_add(sum->count, count);
	sum->value = saturating_add(sum->value, value);
	stacks->pending = true;
}

struct builder {
	uint32_t count;
	uint32_t frames[FRAMES_MAX];
};

static void push(struct builder *builder, const uint32_t *frames, size_t count)
{
	for (size_t i = 0; i < count && builder->count < FRAMES_MAX; i++)
		if (frames[i] != FRAME_NONE)
			builder->frames[builder->count++] = frames[i];
}

static void push_named(struct device_stacks *stacks, struct builder *builder, const char *name, uint32_t kind,
		       uint32_t flags)
{
	uint32_t id =
		frame_table_add(stacks->frames, &(struct iaprof_frame){ .name = name, .kind = kind, .flags = flags });
	push(builder, &id, 1);
}

/* Pushes what follows the code: producers that the instruction waits for, the stall reason and the offset. */
static void push_reason(struct device_stacks *stacks, struct builder *builder, const struct device_stack_key *key,
			uint32_t reason, const struct resolved_location *location)
{
	struct stall_reason stalled = sampled_devices_reason(stacks->devices, (uint16_t)key->source, reason);
	const uint32_t *frames = stacks->locations->frame_ids.items + location->first;
	if (stalled.flags & IAPROF_STALL_REASON_WAITS)
		push(builder, frames + location->count, location->producers);
	push_named(stacks, builder, stalled.name, IAPROF_FRAME_STALL_REASON,
		   stalled.stall_class << IAPROF_FRAME_STALL_CLASS_SHIFT);
	push(builder, &location->offset, 1);
}

/* Builds the complete stack of an entry and a reason. Returns its index in the frame table. */
static uint32_t make_stack(struct device_stacks *stacks, const struct device_stack_key *key, uint32_t reason)
{
	struct builder builder = { 0 };
	const struct stack_entry *launch_stack = &stacks->frames->stacks.items[key->launch_stack];
	const struct resolved_location *location = &stacks->locations->items.items[key->location];
	const uint32_t *frames = stacks->locations->frame_ids.items + location->first;
	push(&builder, stacks->frames->stack_frames.items + launch_stack->first, launch_stack->frame_count);
	push_named(stacks, &builder, "-", IAPROF_FRAME_SEPARATOR, 0);
	if (key->ambiguous)
		push_named(stacks, &builder, "[ambiguous]", IAPROF_FRAME_SEPARATOR, 0);
	push(&builder, frames, location->count);
	if (!key->is_job)
		push_reason(stacks, &builder, key, reason, location);
	struct stack_origin origin = { .thread = launch_stack->origin.thread,
				       .tid = launch_stack->origin.tid,
				       .device = key->device,
				       .span = key->span };
	return frame_table_add_stack(stacks->frames, builder.frames, builder.count, &origin);
}

static struct iaprof_record_stack_origin origin_to_record(const struct device_stacks *stacks,
							  const struct stack_origin *origin)
{
	return (struct iaprof_record_stack_origin){
		.tid = origin->tid,
		.thread_name = origin->thread ? result_stream_text(stacks->results, origin->thread) : 0,
		.device = origin->device ? stacks->devices->items.items[origin->device - 1].id : 0,
	};
}

/* Sends the definition of a stack unless it was sent before. Returns false when out of memory. */
static bool send_stack(struct device_stacks *stacks, uint32_t source, uint32_t index, uint64_t time)
{
	while (stacks->sent.count <= index)
		if (!array_push(&stacks->sent, 0))
			return false;
	if (stacks->sent.items[index])
		return true;
	const struct stack_entry *stack = &stacks->frames->stacks.items[index];
	uint32_t count = stack->frame_count < IAPROF_PROFILE_STACK_COUNT_MAX ? stack->frame_count
									     : IAPROF_PROFILE_STACK_COUNT_MAX;
	size_t size = sizeof(struct iaprof_record_profile_stack) + count * sizeof(struct iaprof_record_frame);
	bool has_origin = stack->origin.tid || stack->origin.thread || stack->origin.device || stack->origin.span;
	size += has_origin ? sizeof(struct iaprof_record_stack_origin) : 0;
	size += stack->origin.span ? sizeof(struct iaprof_span) : 0;
	CLEANUP_FREE struct iaprof_record_profile_stack *record = calloc(1, size);
	if (!record)
		return false;
	struct iaprof_record_frame *frames = (struct iaprof_record_frame *)(record + 1);
	const uint32_t *ids = stacks->frames->stack_frames.items + stack->first;
	for (uint32_t i = 0; i < count; i++)
		frames[i] = frame_to_record(&stacks->frames->frames.items[ids[i]], stacks->results);
	struct iaprof_record_stack_origin *origin = (struct iaprof_record_stack_origin *)(frames + count);
	if (has_origin)
		*origin = origin_to_record(stacks, &stack->origin);
	if (stack->origin.span)
		*(struct iaprof_span *)(origin + 1) = stacks->frames->spans.items[stack->origin.span - 1].key;
	record->header = (struct iaprof_record){
		.type = IAPROF_RECORD_PROFILE_STACK, .size = (uint32_t)size, .source = (uint16_t)source, .time = time
	};
	record->id = stacks->sent_before + index + 1;
	record->frame_count = count;
	result_stream_send(stacks->results, &record->header);
	stacks->sent.items[index] = 1;
	return true;
}

/* value_type: position. */
static void send_value(struct device_stacks *stacks, uint32_t source, uint32_t value_type, uint32_t index,
		       const struct time_value *value, uint64_t time)
{
	if (!result_stream_is_read(stacks->results) || !send_stack(stacks, source, index, time))
		return;
	struct iaprof_record_profile_value record = {
		.header = { .type = IAPROF_RECORD_PROFILE_VALUE,
			    .size = sizeof record,
			    .source = (uint16_t)source,
			    .time = time },
		.stack = stacks->sent_before + index + 1,
		.value_type = stacks->value_types[value_type].id,
		.value = value->value,
		.count = value->count,
		.begin = value->begin,
		.end = value->end,
	};
	result_stream_send(stacks->results, &record.header);
}

/* Adds a sum to the profile, with its times if they were requested. */
static void flush_sum(struct device_stacks *stacks, const struct device_stack_key *key, uint32_t reason,
		      struct device_stacks_sum *sum, uint64_t time)
{
	if (sum->stack == FRAME_NONE)
		sum->stack = make_stack(stacks, key, reason);
	const struct correlator_output *output = stacks->output;
	uint32_t value_type = stacks->value_types[key->value_type].index;
	if (sum->stack == FRAME_NONE ||
	    !output->add_value(output->context, sum->stack, value_type, sum->value, sum->count)) {
		stacks->out_of_memory = saturating_add(stacks->out_of_memory, sum->count);
	} else if (sum->times == TIME_VALUE_NONE) {
		struct time_value all = { .value = sum->value, .count = sum->count };
		send_value(stacks, key->source, key->value_type, sum->stack, &all, time);
	} else {
		for (uint32_t i = sum->times; i != TIME_VALUE_NONE; i = stacks->waiting_times.items.items[i].next) {
			const struct time_value *value = &stacks->waiting_times.items.items[i];
			output->add_time(output->context, sum->stack, value_type, value->begin, value->end,
					 value->value);
			send_value(stacks, key->source, key->value_type, sum->stack, value, time);
		}
	}
	sum->count = sum->value = 0;
	sum->times = TIME_VALUE_NONE;
}

void device_stacks_flush(struct device_stacks *stacks, uint64_t time)
{
	for (size_t i = 0; stacks->pending && i < stacks->entries.count; i++) {
		const struct device_stack *entry = &stacks->entries.items[i];
		for (uint32_t reason = 0; reason < entry->key.reasons; reason++)
			if (stacks->sums.items[entry->sums + reason].count)
				flush_sum(stacks, &entry->key, reason, &stacks->sums.items[entry->sums + reason], time);
	}
	stacks->pending = false;
	time_values_clear(&stacks->waiting_times);
	if (stacks->entries.count > ENTRIES_MAX || stacks->locations->items.count > ENTRIES_MAX)
		clear(stacks);
}
