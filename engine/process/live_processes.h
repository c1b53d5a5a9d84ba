/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that are currently running, according to events: distinguishes the end of a process from that of its first
 * thread, and allows detection of changes missed because events were lost.
 */
#pragma once

#include "base/array.h"
#include "base/hash.h"
#include "process/name_throttle.h"
#include "process/process_rank.h"

/* The rank of a process, as far as known. */
struct ranked_name {
	enum process_rank_state state;
	uint32_t rank;
	uint8_t reads;  /* number of searches for it */
	uint8_t length; /* of the name that was reported without it; 0: none */
	char name[RENAME_LENGTH_MAX];
};

struct live_process {
	uint32_t pid;       /* 0: free */
	bool threaded;      /* it has had more than one thread */
	bool leader_ended;  /* the first thread exited and others may still run */
	uint64_t last_exit; /* with leader_ended: time of the last recorded thread exit */
	uint64_t scanned;   /* time at which the scan of /proc found it; 0 if never */
	uint64_t start;     /* when it started, in clock ticks, according to that scan */
	uint64_t execution; /* number of its execve(2) calls, with has_execution: see sideband_rescan_process() */
	bool has_execution;
	struct name_throttle renames;
	struct ranked_name ranked;
};

/* Initialise with {0}. Pointers to items are valid until the next live_process_add(). */
struct live_processes {
	ARRAY(struct live_process) items;
	ARRAY(uint32_t) free_items;
	struct hash_index index;
	size_t leaders_ended; /* number of items with leader_ended */
	size_t names_waiting; /* number of items with pending names */
};

void live_processes_free(struct live_processes *processes);

/* Returns NULL if it is not known. */
struct live_process *live_process_find(const struct live_processes *processes, uint32_t pid);
/* Finds or adds a process; returns NULL if out of memory. */
struct live_process *live_process_add(struct live_processes *processes, uint32_t pid);
void live_process_remove(struct live_processes *processes, struct live_process *process);
