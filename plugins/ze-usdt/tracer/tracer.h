/* SPDX-License-Identifier: Apache-2.0 */
/* The tracer of this process: starts when Level Zero is initialised, and lasts until process exit. */
#ifndef ZE_TRACER_TRACER_H
#define ZE_TRACER_TRACER_H

#include "announce.h"
#include "launch_counts.h"
#include "level_zero.h"
#include "opencl.h"
#include "registry.h"
#include "stack.h"

enum tracer_state { TRACER_OFF, TRACER_STARTING, TRACER_RUNNING };

/* All state: callbacks run on the process's own threads, and there is one process. */
struct tracer {
	_Atomic int state;        /* of Level Zero */
	_Atomic int opencl_state; /* of OpenCL */
	pthread_mutex_t prepare_lock;
	bool prepared;
	struct level_zero calls;
	struct opencl opencl;
	struct registry registry;
	struct announcer announcer;
	struct stack_process stacks;
	struct launch_counts counts;
};
extern struct tracer tracer;

/*
 * Starts tracing; any thread, any number of times. find is the C library's dlsym. Returns 0 when tracing, or a negative
 * errno: -ENOENT no loader is loaded, -EAGAIN it is not initialised yet, -ENOSYS it does not support tracing, -ENOMEM,
 * -EBUSY another thread is starting.
 */
int tracer_start(void *(*find)(void *library, const char *name));

/*
 * Called before the callbacks of either runtime are registered. Launch stacks begin above the libraries with these file
 * name prefixes. Returns 0 or a negative errno.
 */
int tracer_prepare(void *(*find)(void *library, const char *name), const char *const libraries[], size_t count);

#endif
