/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known about the process's modules, kernels and command lists, by their handles.
 *
 * It is kept whether or not somebody listens. What is found stays readable after it was removed: a handle that a
 * program uses while it destroys it in another thread is its error, and must not become ours. One lock, which is never
 * held during a call into Level Zero; each thread remembers what it found last, so that launches do not meet in it.
 */
#ifndef ZE_TRACER_REGISTRY_H
#define ZE_TRACER_REGISTRY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "handle_map.h"
#include "image.h"

struct module {
	struct module *next_free;
	uint64_t number;  /* >= 1, never used twice */
	uintptr_t handle; /* 0: stands for one kernel whose own module was never seen */
	/* The rest is used under the announcer's lock only (announce.h). */
	uint32_t announced; /* in that epoch, 0 never */
	bool read;          /* the functions are known, as far as they can be */
	struct image_function *functions;
	size_t function_count;
};

struct kernel {
	struct kernel *next_free;
	uintptr_t handle;
	const char *name; /* never freed */
	struct module *module;
	bool owns_module;          /* which stands for this kernel only */
	_Atomic uint32_t prepared; /* in that epoch the rest was filled in and the module announced; 0 never */
	uint64_t address;          /* 0 not known */
	uint64_t size;             /* 0 not known */
};

struct list {
	struct list *next_free;
	uintptr_t handle;
	_Atomic uint64_t recording; /* 0: immediate */
};

struct registry {
	pthread_mutex_t lock;
	_Atomic uint32_t generation; /* changes when what threads remember may be wrong */
	_Atomic uint64_t last_module, last_recording;
	struct handle_map modules, kernels, lists, names;
	/* Never given back to malloc(). */
	struct module *free_modules;
	struct kernel *free_kernels;
	struct list *free_lists;
};

/* What a thread found last; zeroed at first. */
struct registry_cache {
	uint32_t generation;
	struct kernel *kernels[64];
	struct list *lists[8];
};

#define REGISTRY_INITIALIZER                                                                                           \
	{                                                                                                              \
		.lock = PTHREAD_MUTEX_INITIALIZER, .generation = 1                                                     \
	}

/* For fork(): the lock is held from before until after it, in both processes. */
void registry_lock(struct registry *registry);
void registry_unlock(struct registry *registry);

/*
 * Enter what was created; the same handle may still be there, and is replaced. NULL when there is no memory: it is then
 * as if it had never been seen. module NULL: one of its own.
 */
struct module *registry_add_module(struct registry *registry, uintptr_t handle);
struct kernel *registry_add_kernel(struct registry *registry, uintptr_t handle, const char *name,
				   struct module *module);
struct list *registry_add_list(struct registry *registry, uintptr_t handle, uint64_t recording);

/* A number for a recording. */
uint64_t registry_next_recording(struct registry *registry);

/* NULL: never seen. cache may be NULL. */
struct module *registry_get_module(struct registry *registry, uintptr_t handle);
struct kernel *registry_get_kernel(struct registry *registry, struct registry_cache *cache, uintptr_t handle);
struct list *registry_get_list(struct registry *registry, struct registry_cache *cache, uintptr_t handle);

/* Takes out what is about to be destroyed, NULL: never seen. The caller gives it back with registry_free_... */
struct module *registry_remove_module(struct registry *registry, uintptr_t handle);
struct kernel *registry_remove_kernel(struct registry *registry, uintptr_t handle);
void registry_free_module(struct registry *registry, struct module *module);
void registry_free_kernel(struct registry *registry, struct kernel *kernel);
void registry_remove_list(struct registry *registry, uintptr_t handle);

#endif
