/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes run now, as the events tell, so that the end of a process can be told from that of its first thread,
 * and that what went unseen because events were lost can be found.
 */
#ifndef IAPROF_CORE_PROCESS_LIVE_PROCESSES_H
#define IAPROF_CORE_PROCESS_LIVE_PROCESSES_H

#include "base/array.h"
#include "base/hash.h"
#include "process/renames.h"

struct live_process {
	uint32_t pid;       /* 0: free */
	bool threaded;      /* it has had more than one thread */
	bool leader_ended;  /* the first thread exited and others may still run */
	uint64_t last_exit; /* with leader_ended: time of the last thread's exit that was seen */
	uint64_t looked;    /* when it was found in /proc; 0 never */
	struct renames renames;
};

/* Initialise with {0}. Pointers to items are good until the next live_process_add(). */
struct live_processes {
	ARRAY(struct live_process) items;
	ARRAY(uint32_t) free_items;
	struct hash_index index;
	size_t leaders_ended; /* how many items have leader_ended */
	size_t names_waiting; /* how many have names that wait to be told */
};

void live_processes_free(struct live_processes *processes);

/* NULL when it is not there. */
struct live_process *live_process_find(const struct live_processes *processes, uint32_t pid);
/* Finds or adds; NULL when out of memory. */
struct live_process *live_process_add(struct live_processes *processes, uint32_t pid);
void live_process_remove(struct live_processes *processes, struct live_process *process);

#endif
