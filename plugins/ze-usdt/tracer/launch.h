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
	struct timing_thread timing;
};

/* Returns NULL when out of memory, or during thread exit. */
struct thread *thread_get(void);

/* Returns whether a profiler is attached to a probe of launches. */
static inline bool launches_are_reported(void)
{
	return level_zero_launch_kernel_semaphore > 0 || level_zero_new_launch_semaphore > 0;
}

static inline bool is_attached(volatile const uint16_t *semaphore)
{
	return *semaphore > 0 || announcer_is_behind(&tracer.announcer, compile_kernel_listeners());
}

/* Returns whether a profiler is, or may be, attached. Costs three loads per launch without one. */
static inline bool launches_have_profiler(void)
{
	return level_zero_new_launch_semaphore > 0 || is_attached(&level_zero_launch_kernel_semaphore);
}

/* Checks whether a profiler has attached or detached. */
void listeners_check(void);

/*
 * Reports a launch, after the kernel's module was announced: fires the probe, or counts the launch in memory. thread
 * may be NULL. recording 0: executes now. handle 0: a kernel without one, of which nothing can be announced. timed:
 * NULL, or the launch is not counted in memory, and the probe timed_launch is fired before.
 */
void launch_report(struct thread *thread, struct kernel *kernel, uintptr_t handle, uint64_t recording,
		   struct stack_chain stack, struct timed_launch *timed);

#endif
