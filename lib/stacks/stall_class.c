/* SPDX-License-Identifier: Apache-2.0 */
/* See stall_class.h. */
#include "stacks/stall_class.h"

#include <stdbool.h>
#include <string.h>

#include "stacks/stall_columns.h"

#define OTHER                                                                                                          \
	{                                                                                                              \
		"Other", "waits for other reasons", "another condition ends", "Stalled for another reason.", ""        \
	}

const struct stall_class stall_classes[STALL_CLASS_COUNT] = {
	[IAPROF_STALL_UNKNOWN] = OTHER,
	[IAPROF_STALL_DATA] = { "Data dependency", "waits for data", "data arrives",
				"Waits for the result of an earlier load, sampler or matrix instruction.",
				"Load earlier: put independent work between the load and its use, prefetch, or stage "
				"data in local memory." },
	[IAPROF_STALL_QUEUE] = { "Send queue", "waits to send memory messages", "the message queue has room",
				 "A memory message cannot be sent because the queue is full.",
				 "Use fewer and wider memory accesses: load blocks, and let neighbouring lanes access "
				 "neighbouring addresses." },
	[IAPROF_STALL_ARITHMETIC] = { "ALU result", "waits for arithmetic", "the arithmetic result is ready",
				      "Waits for a result of the arithmetic units.",
				      "Break up chains of dependent arithmetic: unroll, and use several "
				      "accumulators." },
	[IAPROF_STALL_PIPELINE] = { "Pipeline busy", "waits for a busy pipeline", "the pipeline is free",
				    "The execution unit that the instruction needs is busy.",
				    "The unit is in use: use cheaper instructions or a smaller data type." },
	[IAPROF_STALL_BARRIER] = { "Barrier", "waits at a barrier", "the other threads arrive",
				   "Waits for other threads at a barrier or for a synchronization instruction.",
				   "Use fewer barriers: reduce within a subgroup first, and give all threads the same "
				   "amount of work." },
	[IAPROF_STALL_BRANCH] = { "Branch", "waits for branches", "the branch is decided",
				  "Waits for a branch or another control instruction.",
				  "Branch less: unroll short loops, and replace short branches by selections." },
	[IAPROF_STALL_FETCH] = { "Fetch", "waits for instructions", "its instructions are fetched",
				 "The next instruction is not yet in the instruction cache.",
				 "Make the code smaller: unroll and inline less." },
	[IAPROF_STALL_ORDER] = { "Pixel order", "waits for thread order", "earlier threads retire",
				 "Waits for earlier threads, to keep the order of pixels.", "" },
	[IAPROF_STALL_OTHER] = OTHER,
	[IAPROF_STALL_ISSUING] = { "Issuing", "issues instructions", "", "An instruction is issued: not a stall.", "" },
};

bool kernel_class_is_collective(const char *kernel_class)
{
	return kernel_class && strcmp(kernel_class, "collective") == 0;
}

const char *kernel_class_advice(const char *kernel_class)
{
	if (kernel_class_is_collective(kernel_class))
		return STALL_ADVICE_COLLECTIVE;
	return kernel_class && strcmp(kernel_class, "copy") == 0 ? STALL_ADVICE_COPY : NULL;
}

const char *stall_advice(uint32_t stall_class, const char *kernel_class)
{
	bool is_of_class = stall_class == IAPROF_STALL_DATA || stall_class == IAPROF_STALL_QUEUE ||
			   kernel_class_is_collective(kernel_class);
	const char *of_class = is_of_class ? kernel_class_advice(kernel_class) : NULL;
	return of_class ? of_class : stall_classes[stall_class].advice;
}

uint32_t stall_class_of(const struct iaprof_frame *frame)
{
	uint32_t known = iaprof_frame_stall_class(frame->flags);
	if (known != IAPROF_STALL_UNKNOWN && known < STALL_CLASS_COUNT)
		return known;
	for (size_t i = 0; i < STALL_COLUMN_COUNT; i++)
		if (!strcmp(frame->name, stall_column_names[i]))
			return stall_column_classes[i];
	return IAPROF_STALL_OTHER;
}
