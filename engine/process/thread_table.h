/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of samples and launches, with a limit per process: further threads are merged under their names, so that
 * programs with thousands of short threads do not multiply the stacks of the profile. Owned by the collector thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/keyed_array.h"

/* Limits on threads with ids, and on names of further threads, in a process; a thread counts once for each name. */
#define THREAD_TABLE_THREADS_MAX 256u
#define THREAD_TABLE_NAMES_MAX 64u
/* Limit on both in all processes. */
#define THREAD_TABLE_COUNT_MAX 262144u

struct thread_identity {
	uint32_t tid;  /* 0: any thread of this name */
	uint32_t name; /* string id; 0: not known */
};

struct known_thread {
	struct {
		uint32_t process; /* thread_table_process() */
		struct thread_identity identity;
	} key;
};

struct known_thread_name {
	struct {
		uint32_t process, tid;
	} key;
	uint32_t name; /* the newest */
};

struct threads_of_process {
	uint32_t key;            /* thread_table_process() */
	uint32_t threads, names; /* known threads with and without tid */
};

/* Initialise with {0}. */
struct thread_table {
	KEYED_ARRAY(struct known_thread) threads;
	KEYED_ARRAY(struct known_thread_name) names;
	KEYED_ARRAY(struct threads_of_process) processes;
	uint64_t merged;  /* samples whose tid was dropped */
	uint32_t changes; /* of names: as long as there are none, a thread that kept its tid has the same identity */
};

/* Forgets all threads, but not how many samples were merged. */
void thread_table_free(struct thread_table *table);

/* Returns what identifies a process here: the serial of the program image, or the pid if that is 0 (not known). */
static inline uint32_t thread_table_process(uint32_t serial, uint32_t pid)
{
	return serial ? serial : pid | UINT32_C(1) << 31;
}

/*
 * Returns the identity under which the samples of a thread are kept. name: string id, 0: the newest name of the thread.
 * count: number of samples, for table->merged.
 */
struct thread_identity thread_table_place(struct thread_table *table, uint32_t process, uint32_t tid, uint32_t name,
					  uint64_t count);
