/* SPDX-License-Identifier: Apache-2.0 */
/* Samples and calls added up by program image and raw (not yet resolved) stack. Belongs to the collector's thread. */
#ifndef IAPROF_CORE_PROFILE_SAMPLE_TABLE_H
#define IAPROF_CORE_PROFILE_SAMPLE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "profile/time_values.h"

/* What samples share. No padding: it is hashed and compared as bytes. */
struct sample_key {
	uint32_t process; /* serial of the program image, 0: the pid was never heard of */
	uint32_t pid;
	uint32_t name; /* string id of the program name */
	uint32_t user_stack, kernel_stack;
	uint32_t call;       /* 1 + position of the node in the tree of calls, 0: no call */
	uint32_t value_type; /* index */
	uint32_t flags;      /* enum iaprof_sample_flag */
};

/* In sample_key.flags: user_stack is the index of a resolved stack, and the process may be gone. */
#define SAMPLE_USER_RESOLVED (UINT32_C(1) << 31)

struct sample_entry {
	struct sample_key key;
	uint32_t next;      /* position of the next one of the same process, SAMPLE_NONE: last */
	uint64_t last_time; /* of the newest sample: when mappings are looked up */
	uint64_t value, count;
	uint32_t times; /* list of when they were added */
	uint32_t pad;
};

#define SAMPLE_NONE UINT32_MAX

/* The samples of one program image. */
struct sample_process {
	uint32_t process; /* serial */
	uint32_t first;   /* position */
};

/* Initialise with {0}, times and hash_key. */
struct sample_table {
	ARRAY(struct sample_entry) entries;
	struct hash_index index;
	struct hash_key hash_key; /* of keys */
	ARRAY(struct sample_process) processes;
	struct hash_index process_index;
	struct time_values times;
};

void sample_table_free(struct sample_table *table);

/* Adds to what is there under the key; false when out of memory. */
bool sample_table_add(struct sample_table *table, const struct sample_key *key, uint64_t first_time, uint64_t time,
		      uint64_t value, uint64_t count);
/* The same for what take() of the functions below got, which goes on under another key. */
bool sample_table_put_back(struct sample_table *table, const struct sample_key *key, const struct sample_entry *entry);

/* Calls take() for each entry of a process that has values, which are zero afterwards. take() may add entries. */
void sample_table_take_process(struct sample_table *table, uint32_t process,
			       void (*take)(void *context, const struct sample_entry *entry), void *context);

/* Calls take() for each entry that has values, and forgets all. */
void sample_table_take_all(struct sample_table *table, void (*take)(void *context, const struct sample_entry *entry),
			   void *context);

#endif
