/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves the stacks of launches and calls: see event_stacks.h. */
#include "profile/event_stacks.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "symbolizer/frame_record.h"

/* Limit on known stacks; beyond it the list is cleared, and frames are sent again. */
#define KNOWN_COUNT_MAX 262144u

/* Adds the frames of a stack to the record, root first. */
static void fill(const struct event_stacks *stacks, struct process *process, uint64_t time,
		 const struct interned_stack *addresses, struct iaprof_record_stack_frames *record)
{
	struct iaprof_record_frame *frames = (struct iaprof_record_frame *)(record + 1);
	for (uint32_t i = addresses->count; i-- > 0;) {
		uint64_t address = interned_stack_code(addresses, i);
		uint32_t ids[SYMBOLIZER_INLINE_DEPTH_MAX];
		size_t room = IAPROF_STACK_FRAMES_COUNT_MAX - record->frame_count;
		size_t count =
			resolver_resolve(stacks->context.resolver, process, time, address, true, ids,
					 room < SYMBOLIZER_INLINE_DEPTH_MAX ? room : SYMBOLIZER_INLINE_DEPTH_MAX);
		for (size_t j = 0; j < count; j++)
			frames[record->frame_count++] =
				frame_to_record(&stacks->context.frames->frames.items[ids[j]], stacks->results);
	}
}

/* Resolves a stack and sends its frames. Returns false if it has expired or its process is unknown. */
static bool send_frames(struct event_stacks *stacks, uint32_t stack, uint32_t pid, uint64_t time)
{
	struct interned_stack addresses = intern_find_stack(stacks->context.intern, stack);
	struct process *process = process_table_find(stacks->context.processes, pid, time);
	/* Without a process, addresses would be resolved as those of the Linux kernel. */
	if (!addresses.count || !process)
		return false;
	CLEANUP_FREE struct iaprof_record_stack_frames *record =
		calloc(1, sizeof *record + IAPROF_STACK_FRAMES_COUNT_MAX * sizeof(struct iaprof_record_frame));
	if (!record)
		return false;
	fill(stacks, process, time, &addresses, record);
	if (!record->frame_count)
		return false;
	record->header = (struct iaprof_record){
		.type = IAPROF_RECORD_STACK_FRAMES,
		.size = (uint32_t)(sizeof *record + record->frame_count * sizeof(struct iaprof_record_frame)),
		.time = clock_monotonic()
	};
	record->stack = stack;
	record->pid = pid;
	return result_stream_send(stacks->results, &record->header);
}

void event_stacks_resolve(struct event_stacks *stacks, uint32_t stack, uint32_t pid, uint64_t time)
{
	if (!stack || keyed_array_find(&stacks->known, &stack) != POSITION_NONE)
		return;
	if (stacks->known.count >= KNOWN_COUNT_MAX)
		keyed_array_free(&stacks->known);
	(void)keyed_array_add(&stacks->known, &(struct known_stack){ stack });
	stacks->missed += !send_frames(stacks, stack, pid, time);
}

void event_stacks_free(struct event_stacks *stacks)
{
	keyed_array_free(&stacks->known);
}
