/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU part of the stacks of device samples: program, user frames and Linux kernel frames, resolved, as an index of
 * a stack in the frame table. Owned by the collector thread.
 */
#pragma once

#include <stdint.h>
#include "base/keyed_array.h"
#include "symbolizer/stack_builder.h"

enum launch_stack_kind {
	LAUNCH_STACK_OF_UNKNOWN_CODE = 1, /* only the program is known, if anything */
	LAUNCH_STACK_NOT_LAUNCHED = 2,    /* no launch was recorded */
	LAUNCH_STACK_LAUNCHED = 3
};

/* Key of a launch stack. No padding: it is compared as bytes. */
struct launch_stack_key {
	uint32_t process; /* serial of the program image; 0: unknown pid */
	uint32_t pid;
	uint32_t user_stack, kernel_stack;
	uint32_t kind; /* enum launch_stack_kind; the stacks are 0 unless it is LAUNCH_STACK_LAUNCHED */
	struct thread_identity thread;
};

struct launch_stack {
	struct launch_stack_key key;
	uint32_t stack;
};

/* Initialise with {0} and the context, with pids. */
struct launch_stacks {
	struct stack_context context;
	KEYED_ARRAY(struct launch_stack) items;
};

void launch_stacks_free(struct launch_stacks *launch_stacks);
/* Forgets the stacks of processes that were removed. */
void launch_stacks_forget_ended(struct launch_stacks *launch_stacks);

/* Returns the launch stack of a launch (a whole record). FRAME_NONE: out of memory. */
uint32_t launch_stacks_of_launch(struct launch_stacks *launch_stacks, const struct iaprof_record_launch *launch);
/* Returns the launch stack of a process (0: not known) without a recorded launch; kind: not LAUNCH_STACK_LAUNCHED. */
uint32_t launch_stacks_of_process(struct launch_stacks *launch_stacks, uint32_t pid, uint64_t time,
				  enum launch_stack_kind kind);
