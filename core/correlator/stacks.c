/* SPDX-License-Identifier: Apache-2.0 */
/* Matched samples by stack, and into the profile: see stacks.h. */
#include "correlator/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/frame_record.h"
#include "profile/loss.h"

/* Beyond this many, what was flushed is forgotten, and the places with it: memory is bounded by what is distinct. */
#define ENTRIES_MAX 262144

/* The deepest stack: the CPU's part, which sample_stack.c limits, and the device's. */
#define FRAMES_MAX 4608

static void clear(struct stacks *stacks)
{
	array_free(&stacks->entries);
	array_free(&stacks->sums);
	hash_index_free(&stacks->index);
	places_clear(stacks->places);
}

void stacks_free(struct stacks *stacks)
{
	array_free(&stacks->entries);
	array_free(&stacks->sums);
	array_free(&stacks->told);
	time_values_free(&stacks->waiting_times);
	hash_index_free(&stacks->index);
}

static uint64_t rehash(const void *context, uint32_t position)
{
	const struct stacks_key *key = &((const struct stacks *)context)->entries.items[position].key;
	return hash_bytes(key, sizeof *key);
}

static struct stacks_entry *entry_for(struct stacks *stacks, const struct stacks_key *key)
{
	uint64_t hash = hash_bytes(key, sizeof *key);
	for (struct hash_probe probe = hash_index_probe(&stacks->index, hash);
	     hash_index_next(&stacks->index, &probe);) {
		struct stacks_entry *entry = &stacks->entries.items[probe.position];
		if (!memcmp(&entry->key, key, sizeof *key))
			return entry;
	}
	uint32_t position = (uint32_t)stacks->entries.count;
	struct stacks_entry entry = { .key = *key, .sums = (uint32_t)stacks->sums.count };
	if (!array_reserve(&stacks->sums, stacks->sums.count + key->reasons) || !array_push(&stacks->entries, entry))
		return NULL;
	if (!hash_index_add(&stacks->index, hash, position, rehash, stacks)) {
		stacks->entries.count--;
		return NULL;
	}
	for (size_t i = 0; i < key->reasons; i++)
		stacks->sums.items[stacks->sums.count++] =
			(struct stacks_sum){ .stack = FRAME_NONE, .times = TIME_VALUE_NONE };
	return &stacks->entries.items[position];
}

void stacks_add(struct stacks *stacks, const struct stacks_key *key, uint32_t reason, uint64_t begin, uint64_t end,
		uint64_t count)
{
	struct stacks_entry *entry = entry_for(stacks, key);
	struct stacks_sum *sum = entry ? &stacks->sums.items[entry->sums + reason] : NULL;
	if (!sum || !time_values_add(&stacks->waiting_times, &sum->times, begin, end, count, count)) {
		stacks->out_of_memory = saturating_add(stacks->out_of_memory, count);
		return;
	}
	sum->count = saturating_add(sum->count, count);
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

static void push_named(struct stacks *stacks, struct builder *builder, const char *name, uint32_t kind)
{
	uint32_t id = frame_table_add(stacks->frames, &(struct iaprof_frame){ .name = name, .kind = kind });
	push(builder, &id, 1);
}

/* The whole stack of an entry and a reason, as an index in the frame table. */
static uint32_t make_stack(struct stacks *stacks, const struct stacks_key *key, uint32_t reason)
{
	struct builder builder = { 0 };
	const struct stack_entry *prefix = &stacks->frames->stacks.items[key->prefix];
	const struct place *place = &stacks->places->items.items[key->place];
	const uint32_t *frames = stacks->places->frame_ids.items + place->first;
	uint32_t flags;
	const char *name = devices_reason(stacks->devices, (uint16_t)key->source, reason, &flags);
	push(&builder, stacks->frames->stack_frames.items + prefix->first, prefix->frame_count);
	push_named(stacks, &builder, "-", IAPROF_FRAME_SEPARATOR);
	if (key->ambiguous)
		push_named(stacks, &builder, "[ambiguous]", IAPROF_FRAME_SEPARATOR);
	push(&builder, frames, place->count);
	if (flags & IAPROF_STALL_REASON_WAITS)
		push(&builder, frames + place->count, place->producers);
	push_named(stacks, &builder, name, IAPROF_FRAME_STALL_REASON);
	push(&builder, &place->offset, 1);
	return frame_table_add_stack(stacks->frames, builder.frames, builder.count);
}

/* Its definition, once. */
static bool tell_stack(struct stacks *stacks, uint32_t source, uint32_t index, uint64_t time)
{
	while (stacks->told.count <= index)
		if (!array_push(&stacks->told, 0))
			return false;
	if (stacks->told.items[index])
		return true;
	const struct stack_entry *stack = &stacks->frames->stacks.items[index];
	uint32_t count = stack->frame_count < IAPROF_PROFILE_STACK_COUNT_MAX ? stack->frame_count
									     : IAPROF_PROFILE_STACK_COUNT_MAX;
	size_t size = sizeof(struct iaprof_record_profile_stack) + count * sizeof(struct iaprof_record_frame);
	CLEANUP_FREE struct iaprof_record_profile_stack *record = calloc(1, size);
	if (!record)
		return false;
	struct iaprof_record_frame *frames = (struct iaprof_record_frame *)(record + 1);
	const uint32_t *ids = stacks->frames->stack_frames.items + stack->first;
	for (uint32_t i = 0; i < count; i++)
		frames[i] = frame_to_record(&stacks->frames->frames.items[ids[i]], stacks->intern);
	record->header = (struct iaprof_record){
		.type = IAPROF_RECORD_PROFILE_STACK, .size = (uint32_t)size, .source = (uint16_t)source, .time = time
	};
	record->id = index + 1;
	record->frame_count = count;
	bus_send(stacks->bus, &record->header);
	stacks->told.items[index] = 1;
	return true;
}

static void tell_value(struct stacks *stacks, uint32_t source, uint32_t index, const struct time_value *value,
		       uint64_t time)
{
	if (!stacks->bus || !tell_stack(stacks, source, index, time))
		return;
	struct iaprof_record_profile_value record = {
		.header = { .type = IAPROF_RECORD_PROFILE_VALUE,
			    .size = sizeof record,
			    .source = (uint16_t)source,
			    .time = time },
		.stack = index + 1,
		.value_type = stacks->value_type_id,
		.value = value->value,
		.count = value->count,
		.begin = value->begin,
		.end = value->end,
	};
	bus_send(stacks->bus, &record.header);
}

/* Puts a sum into the profile; with its times, when somebody asks for them. */
static void flush_sum(struct stacks *stacks, const struct stacks_key *key, uint32_t reason, struct stacks_sum *sum,
		      uint64_t time)
{
	if (sum->stack == FRAME_NONE)
		sum->stack = make_stack(stacks, key, reason);
	if (sum->stack == FRAME_NONE || stacks->value_type == LOSS_NO_VALUE_TYPE ||
	    !value_table_add(stacks->values, sum->stack, stacks->value_type, sum->count, sum->count)) {
		stacks->out_of_memory = saturating_add(stacks->out_of_memory, sum->count);
	} else if (sum->times == TIME_VALUE_NONE) {
		struct time_value all = { .value = sum->count, .count = sum->count };
		tell_value(stacks, key->source, sum->stack, &all, time);
	} else {
		for (uint32_t i = sum->times; i != TIME_VALUE_NONE; i = stacks->waiting_times.items.items[i].next) {
			const struct time_value *value = &stacks->waiting_times.items.items[i];
			time_table_add(stacks->times, sum->stack, stacks->value_type, value->begin, value->end,
				       value->value);
			tell_value(stacks, key->source, sum->stack, value, time);
		}
	}
	sum->count = 0;
	sum->times = TIME_VALUE_NONE;
}

void stacks_flush(struct stacks *stacks, uint64_t time)
{
	for (size_t i = 0; stacks->pending && i < stacks->entries.count; i++) {
		const struct stacks_entry *entry = &stacks->entries.items[i];
		for (uint32_t reason = 0; reason < entry->key.reasons; reason++)
			if (stacks->sums.items[entry->sums + reason].count)
				flush_sum(stacks, &entry->key, reason, &stacks->sums.items[entry->sums + reason], time);
	}
	stacks->pending = false;
	time_values_clear(&stacks->waiting_times);
	if (stacks->entries.count > ENTRIES_MAX || stacks->places->items.count > ENTRIES_MAX)
		clear(stacks);
}
