/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches recorded in command lists that are executed later, any number of times: kept per recording of a list, and
 * counted at each execution. Bounded: executions of dropped launches are counted as lost.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"
#include "bpf/stack.h"
#include "pointer_map.h"
#include "ze-usdt.h"

/*
 * Returns whether a program ended together with another one, or earlier in the same process, as opposed to one that
 * reused the id.
 */
static inline bool ze_process_is_over(const struct ze_process *process, const struct ze_process *ended)
{
	return process->id == ended->id && process->program <= ended->program;
}

/* A stack shared by recorded launches. */
struct recorded_stack {
	uint64_t hash;
	uint32_t users;
	uint32_t depth;
	uint64_t addresses[];
};

struct recorded_launch {
	uint64_t kernel_hash;
	uint64_t module;
	uint32_t kernel;              /* id of the kernel in records */
	uint64_t count;               /* how often it was appended */
	struct recorded_stack *stack; /* NULL if none */
};

struct recording {
	struct recording *older, *newer; /* by last use */
	struct ze_process process;
	uint64_t list;
	uint64_t key;
	uint64_t launch_count; /* sum of the launches' counts, including dropped ones */
	bool dropped;          /* the launches were dropped: executions are lost */
	ARRAY(struct recorded_launch) launches;
};

struct recordings {
	struct pointer_map table;  /* struct recording, by process and list */
	struct pointer_map stacks; /* struct recorded_stack, by hash */
	struct recording *oldest, *newest;
	uint64_t held;      /* launches of all recordings */
	uint64_t forgotten; /* recordings dropped including their count */
	/* Launches that recordings_nest() may still copy: a program can append large recordings with few events. */
	uint64_t copies_left;
};

/* Adds launches to a recording. stack may be NULL. Returns false when out of memory. */
bool recordings_add(struct recordings *recordings, const struct ze_launch_key *key, uint64_t count, uint32_t kernel,
		    uint64_t module, const struct stack_addresses *stack);
/* The same for launches with a key with which some were added before. Returns false if that recording is not known. */
bool recordings_add_more(struct recordings *recordings, const struct ze_launch_key *key, uint64_t count);
/*
 * A recording was appended to another one, times times: adds its launches, which are complete; only their number when
 * no copies are left. Returns false when out of memory.
 */
bool recordings_nest(struct recordings *recordings, const struct ze_process *process, uint64_t parent, uint64_t child,
		     uint64_t times);
/* Returns the recording of a list, which becomes the most recently used, or NULL if none is known. */
const struct recording *recordings_find(struct recordings *recordings, const struct ze_process *process, uint64_t list);
/* Drops the recordings of an ended program, and of earlier programs of the process. */
void recordings_forget_process(struct recordings *recordings, const struct ze_process *ended);
void recordings_forget_module(struct recordings *recordings, const struct ze_process *process, uint64_t module);
void recordings_free(struct recordings *recordings);
