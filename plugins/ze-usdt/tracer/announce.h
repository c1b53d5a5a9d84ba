/* SPDX-License-Identifier: Apache-2.0 */
/* Announces modules and kernels to profilers: queries images and addresses from the driver. */
#ifndef ZE_TRACER_ANNOUNCE_H
#define ZE_TRACER_ANNOUNCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "instruction_base.h"
#include "level_zero.h"
#include "opencl.h"
#include "private_files.h"
#include "registry.h"

struct announcer {
	const struct level_zero *calls;
	const struct opencl *opencl;
	struct registry *registry;
	pthread_mutex_t lock; /* held across Level Zero calls: a forked child recreates it */
	_Atomic bool busy;    /* the lock is held */
	/*
	 * Incremented when a profiler attaches, by each thread that finds it: what was announced in an earlier epoch is
	 * announced again.
	 */
	_Atomic uint32_t epoch;
	_Atomic uint32_t listeners; /* compile_kernel_listeners(), when last checked */
	bool ended;                 /* write no more files */
	bool driver_known;
	kernel_get_base_address *base_address; /* NULL: the driver does not support it */
	kernel_get_binary *binary;
	struct private_files files;
	struct instruction_bases bases;
};

/* calls, opencl and registry are borrowed. */
void announcer_begin(struct announcer *announcer, const struct level_zero *calls, const struct opencl *opencl,
		     struct registry *registry);

/* Called in a forked child, which lacks a thread that was announcing. */
void announcer_forked(struct announcer *announcer);

/* Checks whether a profiler has attached or detached. */
static inline bool announcer_is_behind(const struct announcer *announcer, uint32_t listeners)
{
	return listeners != atomic_load_explicit(&announcer->listeners, memory_order_acquire);
}
void announcer_check(struct announcer *announcer);

/*
 * Called after a module was created or linked: announces it if a profiler is attached, unless its imports are
 * unresolved.
 */
void announce_module(struct announcer *announcer, struct module *module);

/* The same, called once all imports are resolved. */
void announce_linked_module(struct announcer *announcer, struct module *module);

/* Called before a launch is reported: announces the kernel's module, and determines its address and size. */
void announce_kernel(struct announcer *announcer, struct kernel *kernel, uintptr_t handle);

/* Registers a kernel created before the tracer was loaded. Returns NULL if its name is not available. */
struct kernel *announce_unseen_kernel(struct announcer *announcer, uintptr_t handle);

/* Called after an OpenCL program was built: announces it if a profiler is attached. */
void announce_opencl_program(struct announcer *announcer, uintptr_t handle);

/* Returns an OpenCL kernel at its first launch, or NULL if its name or program is not available. */
struct kernel *announce_opencl_kernel(struct announcer *announcer, uintptr_t handle);

/* Announces that the program tries to create a module. */
void announce_module_call(void);

/* Called before a module or kernel is destroyed: frees the data about it. */
void announce_module_end(struct announcer *announcer, struct module *module);
void announce_kernel_end(struct announcer *announcer, struct kernel *kernel);

/* Called at process exit. */
void announcer_end(struct announcer *announcer);

#endif
