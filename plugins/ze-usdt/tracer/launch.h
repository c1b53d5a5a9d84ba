/* SPDX-License-Identifier: Apache-2.0 */
/* Reports launches, with the calling thread's stack: for the callbacks of Level Zero and of OpenCL. */
#ifndef ZE_TRACER_LAUNCH_H
#define ZE_TRACER_LAUNCH_H

#include "probe_sites.h"
#include "tracer.h"

/* Per-thread state. */
struct thread {
	struct registry_cache cache;
	struct stack_memory *stacks; /* NULL when out of memory */
	struct stack_trace trace;
	struct count_block *counts; /* NULL: none yet */
};

/* Returns NULL when out of memory, or during thread exit. */
struct thread *thread_get(void);

/* Whether a profiler is attached to a probe of launches. */
static inline bool launches_are_told(void)
{
	return level_zero_launch_kernel_semaphore > 0 || level_zero_new_launch_semaphore > 0;
}

static inline bool is_listened_to(volatile const uint16_t *semaphore)
{
	return *semaphore > 0 || announcer_is_behind(&tracer.announcer, compile_kernel_listeners());
}

/* The three loads that a launch costs without a profiler, besides the tracing layer's own overhead. */
static inline bool launches_are_listened_to(void)
{
	return level_zero_new_launch_semaphore > 0 || is_listened_to(&level_zero_launch_kernel_semaphore);
}

/* Checks whether a profiler has attached or detached. */
void look_for_listeners(void);

/*
 * Reports a launch, after the kernel's module was announced: fires the probe, or counts the launch in memory. thread
 * may be NULL. recording 0: executes now.
 */
void launch_tell(struct thread *thread, struct kernel *kernel, uintptr_t handle, uint64_t recording,
		 struct stack_chain stack);

#endif
