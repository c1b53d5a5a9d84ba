/* SPDX-License-Identifier: Apache-2.0 */
/* Samples and calls, summed by program image and raw (unresolved) stack. Owned by the collector thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/saturating.h"
#include "correlator/time_values.h"
#include "process/thread_table.h"

/* Key of an entry. No padding: it is hashed and compared as bytes. */
struct sample_key {
	uint32_t process; /* serial of the program image, 0: unknown pid */
	uint32_t pid;
	uint32_t name; /* string id of the program name */
	uint32_t user_stack, kernel_stack;
	uint32_t call;       /* 1 + position of the node in the call tree; 0: not a call */
	uint32_t value_type; /* index */
	uint32_t flags;      /* enum iaprof_sample_flag, SAMPLE_USER_RESOLVED, WAITING_FLAGS without a span */
	struct thread_identity thread;
	uint32_t wait; /* 1 + position in the table of waits; 0: not a wait */
	uint32_t span; /* as in struct stack_origin */
};

/* In sample_key.flags: user_stack is the index of a resolved stack, and the process may have ended. */
#define SAMPLE_USER_RESOLVED (UINT32_C(1) << 31)

struct sample_entry {
	struct sample_key key;
	uint32_t next;      /* position of the next one of the same process, SAMPLE_NONE: last */
	uint64_t last_time; /* time of the newest sample, at which mappings are looked up */
	uint64_t value, count;
	uint32_t times; /* list of sample times */
	uint32_t pad;
};

#define SAMPLE_NONE UINT32_MAX

static inline void sample_entry_add(struct sample_entry *entry, uint64_t time, uint64_t value, uint64_t count)
{
	entry->value = saturating_add(entry->value, value);
	entry->count = saturating_add(entry->count, count);
	if (time > entry->last_time)
		entry->last_time = time;
}

/* The samples of one program image. */
struct sample_process {
	uint32_t process; /* serial */
	uint32_t first;   /* position */
};

/* Initialise with {0}, times and hash_key. */
struct sample_table {
	ARRAY(struct sample_entry) entries;
	struct hash_index index;
	struct hash_key hash_key; /* for keys */
	ARRAY(struct sample_process) processes;
	struct hash_index process_index;
	struct time_values times;
};

void sample_table_free(struct sample_table *table);

/* Returns the position of the entry with this key, adding it if necessary; SAMPLE_NONE when out of memory. */
uint32_t sample_table_entry(struct sample_table *table, const struct sample_key *key);
/* Adds to the entry at a position, which is valid until all are taken; returns false when out of memory. */
static inline bool sample_table_add(struct sample_table *table, uint32_t position, uint64_t first_time, uint64_t time,
				    uint64_t value, uint64_t count)
{
	struct sample_entry *entry = &table->entries.items[position];
	if (!time_values_add(&table->times, &entry->times, first_time < time ? first_time : time, time, value, count))
		return false;
	sample_entry_add(entry, time, value, count);
	return true;
}
/* Adds an entry passed to take() of the functions below under another key. */
bool sample_table_put_back(struct sample_table *table, const struct sample_key *key, const struct sample_entry *entry);

/* Calls take() for each entry of a process that has values, which are zeroed afterwards. take() may add entries. */
void sample_table_take_process(struct sample_table *table, uint32_t process,
			       void (*take)(void *context, const struct sample_entry *entry), void *context);

/* Calls take() for each entry that has values, and removes all entries. */
void sample_table_take_all(struct sample_table *table, void (*take)(void *context, const struct sample_entry *entry),
			   void *context);
