/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof's side of the worker and its children, each of which parses one file and may fail at any time. Owned by one
 * thread; not locked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/deadline.h"

struct worker_pool;

/* A child of the worker. Initialise with WORKER_CHILD_NONE. */
struct worker_child {
	struct delayed_process process;
	int socket; /* -1 if none */
};
#define WORKER_CHILD_NONE ((struct worker_child){ .socket = -1 })

/*
 * arguments: command line of the worker, terminated by NULL; the first is the program's name. delay: of the thread that
 * waits for the worker. Both outlive the pool. Returns NULL if out of memory.
 */
struct worker_pool *worker_pool_new(char *const *arguments, struct run_delay *delay);
/* For tests: children are threads of this process with all of its privileges. They end before the pool is freed. */
struct worker_pool *worker_pool_new_in_threads(int (*serve)(void *context, int socket), void *context);
/* For tests: provides only children that are handed on. */
struct worker_pool *worker_pool_new_without_worker(void);
void worker_pool_free(struct worker_pool *pool);

/* Starts a child with at most data_limit bytes of memory. Returns 0 or a negative errno. */
int worker_child_start(struct worker_pool *pool, struct worker_child *child, uint64_t data_limit);
/*
 * Reuses a child without state for the next worker_child_start() with the same limit. Only for files that budget.h
 * trusts: a child that another user's file may have compromised must not read a second file.
 */
void worker_child_hand_on(struct worker_pool *pool, struct worker_child *child, uint64_t data_limit);
/* Returns whether there is a child that was handed on: worker_pool_rest() must be called later. */
bool worker_pool_has_spare(const struct worker_pool *pool);
/* Ends the child that was handed on if nobody needed it for some seconds: it keeps the memory of the largest file. */
void worker_pool_rest(struct worker_pool *pool);
/* Asks a child whether its plugin returns: in the same call as the last time, it fails (channel.h). */
void worker_child_examine(struct worker_pool *pool, const struct worker_child *child);
/* Kills a child and sets it to WORKER_CHILD_NONE. */
void worker_child_end(struct worker_pool *pool, struct worker_child *child);

/* Returns the CPU time in ns of the worker and of its ended children. */
uint64_t worker_pool_cpu_time(struct worker_pool *pool);

/* Returns the reason of a failure for the user, by the result of channel_send() or channel_receive(). */
const char *worker_reason(int code);
