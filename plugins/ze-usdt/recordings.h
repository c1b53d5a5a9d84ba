/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was appended to command lists that are executed later, as often as the program likes: kept for each recording of
 * a list, and counted as launches each time that the list is executed. Bounded; what is dropped and executed after that
 * is counted as lost.
 */
#ifndef IAPROF_ZE_USDT_RECORDINGS_H
#define IAPROF_ZE_USDT_RECORDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "stack.h"
#include "table.h"
#include "ze-usdt.h"

/* Whether a program ended with another one, or before it in the same process; not one that got the id afterwards. */
static inline bool ze_process_is_over(const struct ze_process *process, const struct ze_process *ended)
{
	return process->id == ended->id && process->program <= ended->program;
}

/* A stack that recorded launches share. */
struct recorded_stack {
	uint64_t hash;
	uint32_t users;
	uint32_t depth;
	uint64_t addresses[];
};

struct recorded_launch {
	uint64_t kernel_hash;
	uint64_t module;
	uint32_t kernel;              /* its id in records */
	uint64_t count;               /* how often it was appended */
	struct recorded_stack *stack; /* NULL none */
};

struct recording {
	struct recording *older, *newer; /* by last use */
	struct ze_process process;
	uint64_t list;
	uint64_t key;
	uint64_t launch_count; /* the sum of the launches' counts, also of those that were dropped */
	bool dropped;          /* the launches are forgotten: executions are lost */
	struct recorded_launch *launches;
	uint32_t count, capacity;
};

struct recordings {
	struct table table;  /* struct recording, by process and list */
	struct table stacks; /* struct recorded_stack, by hash */
	struct recording *oldest, *newest;
	uint64_t held;      /* launches, of all recordings */
	uint64_t forgotten; /* recordings that not even a count is left of */
};

/* Adds to the launches of a recording. stack may be NULL. False when out of memory. */
bool recordings_add(struct recordings *recordings, const struct ze_launch_key *key, uint64_t count, uint32_t kernel,
		    uint64_t module, const struct stack_addresses *stack);
/* NULL: nothing was appended to it that is known of. Makes it the newest. */
const struct recording *recordings_find(struct recordings *recordings, const struct ze_process *process, uint64_t list);
/* Of the program that has ended, and of those that the process executed before. */
void recordings_forget_process(struct recordings *recordings, const struct ze_process *ended);
void recordings_forget_module(struct recordings *recordings, const struct ze_process *process, uint64_t module);
void recordings_free(struct recordings *recordings);

#endif
