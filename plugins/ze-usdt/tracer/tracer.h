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
#include "timing.h"

enum tracer_state { TRACER_OFF, TRACER_STARTING, TRACER_RUNNING };

/* Copies of the loader that are traced: Python packages bring their own. */
#define LOADERS_MAX 8

/* All state: callbacks run on the process's own threads, and there is one process. */
struct tracer {
	_Atomic int state;        /* of Level Zero */
	_Atomic int opencl_state; /* of OpenCL */
	pthread_mutex_t prepare_lock;
	bool prepared;
	void *loaders[LOADERS_MAX]; /* traced ones, referenced */
	unsigned loader_count;
	struct level_zero calls; /* of the first one: all share the drivers, and their handles */
	struct opencl opencl;
	struct pointer_map opencl_queues; /* with the registry's lock */
	struct registry registry;
	struct announcer announcer;
	struct stack_process stacks;
	struct launch_counts counts;
	struct timing timing;
};
extern struct tracer tracer;

/*
 * Starts tracing a loader; any thread, any number of times. find is the C library's dlsym. path: of the loader; NULL:
 * the first one of the usual name. init: its function of this name; NULL: any. Returns 0 when tracing, or a negative
 * errno: -ENOENT it is not loaded, or in another namespace, -EAGAIN it is not initialised yet, -ENOSYS it does not
 * support tracing, -ENOMEM, -ENOSPC there are too many, -EBUSY another thread is starting.
 */
int tracer_start(void *(*find)(void *library, const char *name), const char *path, const char *name, const void *init);

/*
 * Called before the callbacks of either runtime are registered. Launch stacks begin above the libraries with these file
 * name prefixes. Returns 0 or a negative errno.
 */
int tracer_prepare(void *(*find)(void *library, const char *name), const char *const libraries[], size_t count);

#endif
