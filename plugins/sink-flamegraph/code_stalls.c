/* SPDX-License-Identifier: Apache-2.0 */
/* See code_stalls.h. */
#include "code_stalls.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturating.h"

static int compare(const void *left, const void *right)
{
	const struct code_stall *a = left, *b = right;
	if (a->listing != b->listing)
		return a->listing < b->listing ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	int order = strcmp(a->reason, b->reason);
	if (order || a->value_type == b->value_type)
		return order;
	return a->value_type < b->value_type ? -1 : 1;
}

/* Extracts the device frames of a stack; returns false if it has no stalled instruction. */
static bool stall_of(const struct iaprof_profile *profile, const struct iaprof_value *value, struct code_stall *stall)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
	*stall = (struct code_stall){ .value_type = value->value_type, .value = value->value };
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, stack->frames[i]);
		switch (frame->kind) {
		case IAPROF_FRAME_DEVICE_FUNCTION:
			stall->function = stall->function ? stall->function : frame->name;
			break;
		case IAPROF_FRAME_DEVICE_INSTRUCTION:
			stall->instruction = frame->flags & IAPROF_FRAME_PRODUCER ? stall->instruction : frame;
			break;
		case IAPROF_FRAME_STALL_REASON:
			stall->reason = frame->name;
			break;
		case IAPROF_FRAME_DEVICE_OFFSET:
			stall->offset = frame->offset;
			stall->listing = frame->address <= UINT32_MAX ? (uint32_t)frame->address : 0;
			break;
		default:
			break;
		}
	}
	return stall->reason != NULL;
}

int code_stalls_make(struct code_stalls *stalls, const struct iaprof_profile *profile)
{
	size_t kept = 0;
	*stalls = (struct code_stalls){ 0 };
	struct code_stall stall;
	for (size_t i = 0; i < profile->value_count; i++)
		if (stall_of(profile, iaprof_profile_value(profile, i), &stall) && !array_push(stalls, stall))
			return -ENOMEM;
	if (stalls->count)
		qsort(stalls->items, stalls->count, sizeof *stalls->items, compare);
	for (size_t i = 0; i < stalls->count; i++)
		if (kept && compare(&stalls->items[kept - 1], &stalls->items[i]) == 0)
			saturating_increase(&stalls->items[kept - 1].value, stalls->items[i].value);
		else
			stalls->items[kept++] = stalls->items[i];
	stalls->count = kept;
	return 0;
}

void code_stalls_free(struct code_stalls *stalls)
{
	array_free(stalls);
}
