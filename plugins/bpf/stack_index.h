/* SPDX-License-Identifier: Apache-2.0 */
/* Finds stacks by their hashes in what was moved out of a map of stacks (stack.h). */
#ifndef IAPROF_BPF_STACK_INDEX_H
#define IAPROF_BPF_STACK_INDEX_H

#include <stdbool.h>
#include <iaprof/host.h>
#include "map_table.h"
#include "stack.h"

struct stack_index_entry {
	uint64_t hash;
	const struct stack_addresses *stack;
};

/* Initialise with {0}. */
struct stack_index {
	struct stack_index_entry *entries;
	uint32_t count;
	uint32_t capacity;
};

/* How deep the Linux kernel lets stacks be, at most IAPROF_STACK_DEPTH_MAX. */
uint32_t stack_depth_read(void);
/* The bytes of a map's value that has room for a stack of that depth. */
uint32_t stack_size(uint32_t depth);

/* Of table, which must not change while the index is used. False when out of memory. */
bool stack_index_build(struct stack_index *index, const struct map_table *table);
/* NULL when there is none. */
const struct stack_addresses *stack_index_find(const struct stack_index *index, uint64_t hash);
/* The id of the stack of process (0: of the Linux kernel) with this hash; 0 when there is none. */
uint32_t stack_index_intern(const struct stack_index *index, const struct iaprof_host *host, uint32_t process,
			    uint64_t hash);
void stack_index_free(struct stack_index *index);

#endif
