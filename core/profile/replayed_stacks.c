/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of device samples from a replayed run: see replayed_stacks.h. */
#include "profile/replayed_stacks.h"

#include "profile/frame_record.h"

void replayed_stacks_free(struct replayed_stacks *stacks)
{
	array_free(&stacks->items);
	hash_index_free(&stacks->index);
}

static uint64_t rehash(const void *context, uint32_t position)
{
	return hash_u64(((const struct replayed_stacks *)context)->items.items[position].id);
}

uint32_t replayed_stacks_find(const struct replayed_stacks *stacks, uint32_t id)
{
	for (struct hash_probe probe = hash_index_probe(&stacks->index, hash_u64(id));
	     hash_index_next(&stacks->index, &probe);)
		if (stacks->items.items[probe.position].id == id)
			return stacks->items.items[probe.position].stack;
	return FRAME_NONE;
}

bool replayed_stacks_take(struct replayed_stacks *stacks, const struct iaprof_record_profile_stack *record,
			  struct intern *intern, struct frame_table *frames)
{
	const struct iaprof_record_frame *recorded = iaprof_record_profile_stack_frames(record);
	uint32_t ids[IAPROF_PROFILE_STACK_COUNT_MAX];
	if (replayed_stacks_find(stacks, record->id) != FRAME_NONE)
		return true;
	for (uint32_t i = 0; i < record->frame_count; i++) {
		struct iaprof_frame frame = frame_from_record(&recorded[i], intern);
		ids[i] = frame_table_add(frames, &frame);
		if (ids[i] == FRAME_NONE)
			return false;
	}
	struct replayed_stack stack = { .id = record->id,
					.stack = frame_table_add_stack(frames, ids, record->frame_count) };
	if (stack.stack == FRAME_NONE || !array_push(&stacks->items, stack))
		return false;
	if (hash_index_add(&stacks->index, hash_u64(stack.id), (uint32_t)stacks->items.count - 1, rehash, stacks))
		return true;
	stacks->items.count--;
	return false;
}
