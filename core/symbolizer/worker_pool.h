/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker and its children, as iaprof sees them: each parses one file and may be lost at any time. Belongs to one
 * thread; not locked.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_WORKER_POOL_H
#define IAPROF_CORE_SYMBOLIZER_WORKER_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/deadline.h"

struct worker_pool;

/* A child of the worker. Initialise with WORKER_CHILD_NONE. */
struct worker_child {
	struct delayed_process process;
	int socket; /* -1: there is none */
};
#define WORKER_CHILD_NONE ((struct worker_child){ .socket = -1 })

/*
 * arguments: of the worker's program, end with NULL; the first is its name. delay: of the thread that waits for the
 * worker. Both outlive the pool. NULL: out of memory.
 */
struct worker_pool *worker_pool_new(char *const *arguments, struct run_delay *delay);
/* For tests: children are threads of this process, and share all of its rights. They end before the pool is freed. */
struct worker_pool *worker_pool_new_in_threads(int (*serve)(void *context, int socket), void *context);
/* For tests: it has only the children that are handed on. */
struct worker_pool *worker_pool_new_without_worker(void);
void worker_pool_free(struct worker_pool *pool);

/* Makes a child with at most data_limit bytes of memory. Returns 0 or a negative errno. */
int worker_child_start(struct worker_pool *pool, struct worker_child *child, uint64_t data_limit);
/*
 * Hands a child that keeps nothing to the next worker_child_start() with the same limit. Only for files that budget.h
 * trusts: a child that another user's file took over must not read a second file.
 */
void worker_child_hand_on(struct worker_pool *pool, struct worker_child *child, uint64_t data_limit);
/* Ends a child, whatever it does, and leaves WORKER_CHILD_NONE. */
void worker_child_end(struct worker_pool *pool, struct worker_child *child);

/* ns of CPU time that the worker used, and its children that have ended. */
uint64_t worker_pool_cpu_time(const struct worker_pool *pool);

/* Why a child failed, for the user, by what channel_send() or channel_receive() returned. */
const char *worker_reason(int code);

#endif
