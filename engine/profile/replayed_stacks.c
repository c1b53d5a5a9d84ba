/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of device samples from a replayed run: see replayed_stacks.h. */
#include "profile/replayed_stacks.h"

#include "symbolizer/frame_record.h"

void replayed_stacks_free(struct replayed_stacks *stacks)
{
	keyed_array_free(&stacks->items);
}

const struct replayed_stack *replayed_stacks_find(const struct replayed_stacks *stacks, uint32_t id)
{
	return keyed_array_get(&stacks->items, &id);
}

static struct stack_origin origin_of(const struct replayed_stacks *stacks,
				     const struct iaprof_record_profile_stack *record)
{
	const struct iaprof_record_stack_origin *recorded = iaprof_record_profile_stack_origin(record);
	if (!stacks->devices || !recorded)
		return (struct stack_origin){ 0 };
	const struct sampled_device *device =
		recorded->device ? sampled_devices_find(stacks->devices, record->header.source, recorded->device)
				 : NULL;
	return (struct stack_origin){
		.thread = recorded->thread_name ? intern_text(stacks->intern, recorded->thread_name) : NULL,
		.tid = recorded->tid,
		.device = sampled_devices_origin(stacks->devices, device),
	};
}

bool replayed_stacks_take(struct replayed_stacks *stacks, const struct iaprof_record_profile_stack *record)
{
	uint32_t ids[IAPROF_PROFILE_STACK_COUNT_MAX];
	if (replayed_stacks_find(stacks, record->id))
		return true;
	for (uint32_t i = 0; i < record->frame_count; i++) {
		struct iaprof_frame frame =
			frame_from_record(iaprof_record_profile_stack_frame(record, i), stacks->intern);
		ids[i] = frame_table_add(stacks->frames, &frame);
		if (ids[i] == FRAME_NONE)
			return false;
	}
	struct stack_origin origin = origin_of(stacks, record);
	const struct iaprof_span *span = stacks->spans ? iaprof_record_profile_stack_span(record) : NULL;
	origin.span = span ? frame_table_add_span(stacks->frames, span) : 0;
	struct replayed_stack stack = {
		.key = record->id,
		.stack = frame_table_add_stack(stacks->frames, ids, record->frame_count, &origin),
		.is_span_dropped = span && !origin.span,
	};
	return stack.stack != FRAME_NONE && keyed_array_add(&stacks->items, &stack) != POSITION_NONE;
}
