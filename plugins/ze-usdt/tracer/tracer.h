/* SPDX-License-Identifier: Apache-2.0 */
/* The tracer of this process: begins when Level Zero is ready, and goes on to the process's end. */
#ifndef ZE_TRACER_TRACER_H
#define ZE_TRACER_TRACER_H

#include "announce.h"
#include "level_zero.h"
#include "registry.h"
#include "stack.h"

/* Everything there is of state: callbacks come from the process's own threads, and there is one process. */
struct tracer {
	_Atomic int state;
	bool forks_handled;
	struct level_zero calls;
	struct registry registry;
	struct announcer announcer;
	struct stack_process stacks;
};
extern struct tracer tracer;

/*
 * Begins to trace; any thread, any number of times. find is the C library's dlsym. Returns 0 when it traces, or a
 * negative errno: -ENOENT no loader is loaded, -EAGAIN it is not initialised yet, -ENOSYS it cannot be traced, -ENOMEM,
 * -EBUSY another thread is about to.
 */
int tracer_start(void *(*find)(void *library, const char *name));

#endif
