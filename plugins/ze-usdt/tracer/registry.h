/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's modules, kernels and command lists, by handle. They are tracked with or without a profiler. Objects
 * stay readable after removal: a handle that a program uses while destroying it in another thread is the program's
 * error, and must not crash the tracer. One lock, never held during a Level Zero call; each thread caches its last
 * result, so that launches do not contend for it.
 */
#ifndef ZE_TRACER_REGISTRY_H
#define ZE_TRACER_REGISTRY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../pointer_map.h"
#include "../probes.h"
#include "device_binary.h"

/* Whose objects the handles are. */
enum runtime { RUNTIME_LEVEL_ZERO, RUNTIME_OPENCL };

/* A module of Level Zero, or a program of OpenCL. */
struct module {
	struct module *next_free;
	uint64_t number;  /* >= 1, never reused */
	uintptr_t handle; /* 0: represents one kernel whose module is unknown */
	enum runtime runtime;
	/* The rest is protected by the announcer's lock (announce.h). */
	uint32_t announced; /* epoch of the announcement, 0 if never */
	bool read;          /* the functions are known, if available */
	struct image_function *functions;
	size_t function_count;
};

struct kernel {
	struct kernel *next_free;
	uintptr_t handle;
	const char *name; /* never freed */
	struct module *module;
	bool owns_module;          /* represents this kernel only */
	_Atomic uint32_t prepared; /* epoch in which the rest was set and the module announced; 0 if never */
	uint64_t address;          /* 0 if unknown */
	uint64_t size;             /* 0 if unknown */
	uint64_t instruction_base; /* 0 if unknown */
	_Atomic uint64_t timed;    /* when a launch was chosen to be timed last, CLOCK_MONOTONIC, ns; 0: never */
	_Atomic uint32_t period;   /* one of so many launches is chosen; 0: 1 */
};

/* A launch of a mutable list whose kernel the program may change: a recording of its own, and a new one then. */
struct changeable_launch {
	uint64_t command; /* the driver's number, unique in the list */
	uint64_t recording;
};

/* What executes a list's fills and copies: a kernel, or a copy engine. */
enum list_engine { LIST_ENGINE_UNKNOWN, LIST_ENGINE_COMPUTE, LIST_ENGINE_COPY };

struct list {
	struct list *next_free;
	uintptr_t handle;
	_Atomic int engine;            /* enum list_engine */
	_Atomic uint64_t recording;    /* 0: immediate */
	_Atomic uint64_t launches;     /* in the recording, ZE_LAUNCHES_UNKNOWN: and earlier ones */
	_Atomic uint64_t next_command; /* number of the next launch, whose kernel may be changed; 0: may not */
	_Atomic uintptr_t capture;     /* graph whose capture began on this list; 0: none */
	_Atomic uintptr_t context;     /* it belongs to; 0 unknown */
	_Atomic bool in_order;         /* immediate list: known to execute its commands in order */
	/* With the lock. */
	struct changeable_launch *changeable;
	_Atomic size_t changeable_count;
};

/* A graph, or an executable graph, which has the recording of its graph. */
struct graph {
	struct graph *next_free;
	uintptr_t handle;
	uint64_t recording;
	_Atomic uint64_t launches; /* in the recording */
	bool capturing;            /* with the lock */
};

struct registry {
	pthread_mutex_t lock;
	_Atomic uint32_t generation; /* incremented when caches may be stale */
	_Atomic uint64_t last_module, last_recording;
	_Atomic uint32_t captures;             /* graphs that are being captured */
	_Atomic uintptr_t capture_contexts[8]; /* in which captures began: of the driver that has graphs */
	struct pointer_map modules, kernels, lists, names, graphs, executables;
	/* Never returned to malloc(). */
	struct module *free_modules;
	struct kernel *free_kernels;
	struct list *free_lists;
	struct graph *free_graphs;
};

/* A thread's last result. Initialise with {0}. */
struct registry_cache {
	uint32_t generation;
	struct kernel *kernels[64];
	struct list *lists[8];
};

#define REGISTRY_INITIALIZER                                                                                           \
	{                                                                                                              \
		.lock = PTHREAD_MUTEX_INITIALIZER, .generation = 1                                                     \
	}

/* For fork(): the lock is held across it, in both processes. */
void registry_lock(struct registry *registry);
void registry_unlock(struct registry *registry);

/*
 * These register created objects, replacing an existing entry with the same handle. They return NULL when out of
 * memory: the object then counts as unknown. module NULL: a module of its own.
 */
struct module *registry_add_module(struct registry *registry, uintptr_t handle, enum runtime runtime);
struct kernel *registry_add_kernel(struct registry *registry, uintptr_t handle, const char *name,
				   struct module *module);
struct list *registry_add_list(struct registry *registry, uintptr_t handle, uint64_t recording);

/* Returns a number for a recording. */
uint64_t registry_next_recording(struct registry *registry);

/* Returns a sum of launches in recordings. */
static inline uint64_t launches_sum(uint64_t first, uint64_t second)
{
	return first == ZE_LAUNCHES_UNKNOWN || second == ZE_LAUNCHES_UNKNOWN ? ZE_LAUNCHES_UNKNOWN : first + second;
}

/* A program does not use a list in two threads at once: no locked instruction. */
static inline void list_add_launches(struct list *list, uint64_t launches)
{
	uint64_t before = atomic_load_explicit(&list->launches, memory_order_relaxed);

	atomic_store_explicit(&list->launches, launches_sum(before, launches), memory_order_relaxed);
}

/* Several lists of several threads may be captured into one graph. */
static inline void graph_add_launches(struct graph *graph, uint64_t launches)
{
	uint64_t before = atomic_load_explicit(&graph->launches, memory_order_relaxed);

	while (!atomic_compare_exchange_weak(&graph->launches, &before, launches_sum(before, launches)))
		;
}

/* The list is empty again: its contents are another recording. */
void registry_reset_list(struct registry *registry, struct list *list);
/* The contents of a list are copied to a new one. */
void registry_clone_list(struct registry *registry, const struct list *list, uintptr_t clone);

/* Returns the recording of a launch whose kernel may be changed, or 0 if there are too many. */
uint64_t registry_add_changeable(struct registry *registry, struct list *list, uint64_t command);
/* Its kernel changes: returns its new recording, or 0 if the launch is unknown. */
uint64_t registry_change_launch(struct registry *registry, struct list *list, uint64_t command);
/* Returns the recording of the launch with this index, or 0 if there are no more. */
uint64_t registry_get_changeable(struct registry *registry, const struct list *list, size_t index);

/* These return NULL for unknown handles. cache may be NULL. */
struct module *registry_get_module(struct registry *registry, uintptr_t handle);
struct kernel *registry_get_kernel(struct registry *registry, struct registry_cache *cache, uintptr_t handle);
struct list *registry_get_list(struct registry *registry, struct registry_cache *cache, uintptr_t handle);

/*
 * These remove an object that is about to be destroyed, and return NULL if it is unknown. The caller releases it with
 * registry_free_...
 */
struct module *registry_remove_module(struct registry *registry, uintptr_t handle);
struct kernel *registry_remove_kernel(struct registry *registry, uintptr_t handle);
void registry_free_module(struct registry *registry, struct module *module);
void registry_free_kernel(struct registry *registry, struct kernel *kernel);
void registry_remove_list(struct registry *registry, uintptr_t handle);

/* Graphs (graphs.c). Executable graphs may outlive the graph. They return NULL for unknown handles, or out of memory.
 */
struct graph *registry_begin_capture(struct registry *registry, uintptr_t graph);
void registry_end_capture(struct registry *registry, uintptr_t graph);
struct graph *registry_add_executable(struct registry *registry, uintptr_t graph, uintptr_t executable);
struct graph *registry_get_graph(struct registry *registry, uintptr_t graph);
struct graph *registry_get_executable(struct registry *registry, uintptr_t executable);
void registry_remove_graph(struct registry *registry, uintptr_t graph);
void registry_remove_executable(struct registry *registry, uintptr_t executable);

#endif
