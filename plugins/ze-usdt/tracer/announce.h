/* SPDX-License-Identifier: Apache-2.0 */
/* Tells who profiles the process of modules and kernels: fetches images and addresses from the driver. */
#ifndef ZE_TRACER_ANNOUNCE_H
#define ZE_TRACER_ANNOUNCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "level_zero.h"
#include "private_files.h"
#include "registry.h"

struct announcer {
	const struct level_zero *calls;
	struct registry *registry;
	pthread_mutex_t lock; /* over calls into Level Zero: a forked child makes it anew */
	_Atomic bool busy;    /* somebody has it */
	/* Counts who began to listen: what was announced in an earlier epoch is announced again. */
	_Atomic uint32_t epoch;
	_Atomic uint16_t listeners; /* to compile_kernel, when last looked at */
	bool ended;                 /* no more files are written */
	bool driver_known;
	kernel_get_base_address *base_address; /* NULL: the driver does not have it */
	kernel_get_binary *binary;
	struct private_files files;
};

/* calls and registry stay for the life of the announcer. */
void announcer_begin(struct announcer *announcer, const struct level_zero *calls, struct registry *registry);

/* In a forked child, where the thread that was announcing something is not. */
void announcer_forked(struct announcer *announcer);

/* Somebody came or went since last time. */
static inline bool announcer_is_behind(const struct announcer *announcer, uint16_t listeners)
{
	return listeners != atomic_load_explicit(&announcer->listeners, memory_order_relaxed);
}
void announcer_look(struct announcer *announcer);

/* After a module was created or linked: tells of it when somebody listens, unless what it imports is still missing. */
void announce_module(struct announcer *announcer, struct module *module);

/* The same, once nothing is missing. */
void announce_linked_module(struct announcer *announcer, struct module *module);

/* Before a launch of the kernel with that handle is told: its module, where it is and how long it is. */
void announce_kernel(struct announcer *announcer, struct kernel *kernel, uintptr_t handle);

/* A kernel that was created before the tracer was there; NULL when its name cannot be had. */
struct kernel *announce_unseen_kernel(struct announcer *announcer, uintptr_t handle);

/* Before a module or kernel is destroyed; what was known of it is given back. */
void announce_module_end(struct announcer *announcer, struct module *module);
void announce_kernel_end(struct announcer *announcer, struct kernel *kernel);

/* At the exit of the process. */
void announcer_end(struct announcer *announcer);

#endif
