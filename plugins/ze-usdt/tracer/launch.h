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
};

/* Returns NULL when out of memory, or during thread exit. */
struct thread *thread_get(void);

/* The two loads that a launch costs without a profiler, besides the tracing layer's own overhead. */
static inline bool is_listened_to(volatile const uint16_t *semaphore)
{
	return *semaphore > 0 || announcer_is_behind(&tracer.announcer, level_zero_compile_kernel_semaphore);
}

/* Checks whether a profiler has attached or detached. */
void look_for_listeners(void);

/* Fires the probe for a launch, after the kernel's module was announced. recording 0: executes now. */
void launch_tell(struct kernel *kernel, uintptr_t handle, uint64_t recording, struct stack_chain stack);

#endif
