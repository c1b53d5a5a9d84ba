/* SPDX-License-Identifier: Apache-2.0 */
/* See stack_parts.h. */
#include "stacks/stack_parts.h"

#include <stdbool.h>
#include <string.h>

/* Limit on distinct libraries of a stack. */
#define LIBRARIES_MAX 16

static bool is_cpu_code(const struct iaprof_frame *frame)
{
	return frame->kind == IAPROF_FRAME_USER || frame->kind == IAPROF_FRAME_JIT ||
	       frame->kind == IAPROF_FRAME_PYTHON;
}

/*
 * How well a frame describes the launch site, of frames of which the innermost one counts: 4: Python code of the
 * program; 3: its native code, which in a Python program is usually a framework's that no rule names; 2: a framework's
 * Python code; 1: another library; 0: no code of a CPU.
 */
static unsigned launch_rank(const struct iaprof_frame *frame)
{
	if (!is_cpu_code(frame))
		return 0;
	if (!(frame->flags & (IAPROF_FRAME_LIBRARY | IAPROF_FRAME_UNKNOWN)))
		return frame->kind == IAPROF_FRAME_PYTHON ? 4 : 3;
	return frame->kind == IAPROF_FRAME_PYTHON ? 2 : 1;
}

/*
 * The launch site in a thread of libraries alone, such as PyTorch's for gradients: the function nearest to the launch
 * in the library that most of the stack is in. Frames nearer to the leaf belong to the runtime, and the thread's start
 * carries no information.
 */
static const struct iaprof_frame *launch_of_library(const struct iaprof_profile *profile,
						    const struct iaprof_stack *stack)
{
	struct {
		const struct iaprof_frame *nearest;
		uint32_t count;
	} libraries[LIBRARIES_MAX] = { 0 };
	size_t best = 0;
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, stack->frames[i]);
		if (!is_cpu_code(frame) || frame->flags & IAPROF_FRAME_UNKNOWN || !frame->module)
			continue;
		size_t place = 0;
		while (place < LIBRARIES_MAX && libraries[place].nearest &&
		       strcmp(libraries[place].nearest->module, frame->module) != 0)
			place++;
		if (place == LIBRARIES_MAX)
			continue;
		libraries[place].nearest = frame;
		libraries[place].count++;
		if (libraries[place].count > libraries[best].count)
			best = place;
	}
	return libraries[best].nearest;
}

struct stack_parts stack_parts_of(const struct iaprof_profile *profile, const struct iaprof_stack *stack)
{
	struct stack_parts parts = { 0 };
	const struct iaprof_frame *before = NULL; /* of the launch site, and as good */
	unsigned best = 0;
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, stack->frames[i]);
		unsigned rank = launch_rank(frame);
		if (rank && rank >= best) {
			before = rank == best ? parts.launch : NULL;
			best = rank;
			parts.launch = frame;
		}
		if (frame->kind == IAPROF_FRAME_PROCESS)
			parts.process = frame;
		if (is_cpu_code(frame) || frame->kind == IAPROF_FRAME_LINUX_KERNEL || frame->kind == IAPROF_FRAME_CALL)
			parts.function = frame;
		else if (frame->kind == IAPROF_FRAME_DEVICE_FUNCTION && !parts.kernel) {
			parts.kernel = frame;
			parts.kernel_class = iaprof_profile_kernel_class(profile, stack->frames[i]);
			/* A function with the kernel's name is what its compiler made for launching it. */
			if (before && strcmp(parts.launch->name, frame->name) == 0)
				parts.launch = before;
		} else if (frame->kind == IAPROF_FRAME_STALL_REASON)
			parts.reason = frame;
		else if (frame->kind == IAPROF_FRAME_DEVICE_INSTRUCTION && !(frame->flags & IAPROF_FRAME_PRODUCER))
			parts.instruction = frame;
		else if (frame->kind == IAPROF_FRAME_DEVICE_INSTRUCTION && !parts.producer)
			parts.producer = frame;
	}
	if (best == 1)
		parts.launch = launch_of_library(profile, stack) ?: parts.launch;
	return parts;
}
