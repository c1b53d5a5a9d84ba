/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the frames of a stack that are its launch site, kernel, instruction, producer and stall reason. */
#pragma once

#include <iaprof/profile.h>

/* Each may be NULL. Frames are borrowed from the profile. */
struct stack_parts {
	const struct iaprof_frame *process, *launch, *kernel, *instruction, *producer, *reason, *function;
	const char *kernel_class;
};

struct stack_parts stack_parts_of(const struct iaprof_profile *profile, const struct iaprof_stack *stack);
