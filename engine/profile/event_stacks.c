/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves the stacks of launches and calls: see event_stacks.h. */
#include "profile/event_stacks.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "symbolizer/frame_record.h"

/* Limit on known stacks; beyond it the list is cleared, and frames are sent again. */
#define KNOWN_COUNT_MAX 262144u

/* Limit on pending stacks; there are far fewer distinct launch sites per second. */
#define WAITING_COUNT_MAX 65536u

void event_stacks_add(struct event_stacks *stacks, uint32_t stack, uint32_t pid, uint64_t time)
{
	if (!stack || keyed_array_find(&stacks->known, &stack) != POSITION_NONE)
		return;
	if (stacks->known.count >= KNOWN_COUNT_MAX)
		keyed_array_free(&stacks->known);
	(void)keyed_array_add(&stacks->known, &(struct known_stack){ stack });
	/* The lookup keeps it from expiring until the next SYNC. */
	intern_find_stack(stacks->context.intern, stack);
	struct event_stack waiting = { .stack = stack, .pid = pid, .time = time };
	if (stacks->waiting.count >= WAITING_COUNT_MAX || !array_push(&stacks->waiting, waiting))
		stacks->missed++;
}

/* Adds the frames of a stack to the record, root first. */
static void fill(const struct event_stacks *stacks, const struct event_stack *event,
		 const struct interned_stack *addresses, struct iaprof_record_stack_frames *record)
{
	struct process *process = process_table_find(stacks->context.processes, event->pid, event->time);
	struct iaprof_record_frame *frames = (struct iaprof_record_frame *)(record + 1);
	for (uint32_t i = addresses->count; i-- > 0;) {
		uint64_t address = interned_stack_code(addresses, i);
		uint32_t ids[SYMBOLIZER_INLINE_DEPTH_MAX];
		size_t room = IAPROF_STACK_FRAMES_COUNT_MAX - record->frame_count;
		size_t count =
			resolver_resolve(stacks->context.resolver, process, event->time, address, ids,
					 room < SYMBOLIZER_INLINE_DEPTH_MAX ? room : SYMBOLIZER_INLINE_DEPTH_MAX);
		for (size_t j = 0; j < count; j++)
			frames[record->frame_count++] =
				frame_to_record(&stacks->context.frames->frames.items[ids[j]], stacks->results);
	}
}

/* Resolves a stack and sends its frames. Returns false if it has expired or its process is unknown. */
static bool name(struct event_stacks *stacks, const struct event_stack *event)
{
	struct interned_stack addresses = intern_find_stack(stacks->context.intern, event->stack);
	/* Without a process, addresses would be resolved as those of the Linux kernel. */
	if (!addresses.count || !process_table_find(stacks->context.processes, event->pid, event->time))
		return false;
	CLEANUP_FREE struct iaprof_record_stack_frames *record =
		calloc(1, sizeof *record + IAPROF_STACK_FRAMES_COUNT_MAX * sizeof(struct iaprof_record_frame));
	if (!record)
		return false;
	fill(stacks, event, &addresses, record);
	if (!record->frame_count)
		return false;
	record->header = (struct iaprof_record){
		.type = IAPROF_RECORD_STACK_FRAMES,
		.size = (uint32_t)(sizeof *record + record->frame_count * sizeof(struct iaprof_record_frame)),
		.time = clock_monotonic()
	};
	record->stack = event->stack;
	record->pid = event->pid;
	return result_stream_send(stacks->results, &record->header);
}

void event_stacks_name(struct event_stacks *stacks, uint64_t until)
{
	size_t kept = 0;
	for (size_t i = 0; i < stacks->waiting.count; i++)
		if (stacks->waiting.items[i].time > until)
			stacks->waiting.items[kept++] = stacks->waiting.items[i];
		else if (!name(stacks, &stacks->waiting.items[i]))
			stacks->missed++;
	stacks->waiting.count = kept;
}

void event_stacks_free(struct event_stacks *stacks)
{
	array_free(&stacks->waiting);
	keyed_array_free(&stacks->known);
}
