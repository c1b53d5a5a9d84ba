/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up stacks by hash in the contents of a map of stacks (stack.h). */
#pragma once

#include <stdbool.h>
#include <iaprof/host.h>
#include "base/array.h"
#include "bpf/map_table.h"
#include "bpf/stack.h"

struct stack_index_entry {
	uint64_t key;
	const struct stack_piece *piece;
};

/* Initialise with {0}. */
struct stack_index {
	ARRAY(struct stack_index_entry) entries;
	struct stack_addresses *room; /* for a stack of several pieces */
};

/* Returns the Linux kernel's maximum stack depth, at most IAPROF_STACK_DEPTH_MAX. */
uint32_t stack_depth_read(void);
/* For check(): reports the maximum depth. use_tables: user stacks are unwound by tables, which have no such limit. */
void bpf_check_stack_depth(const struct iaprof_host *host, bool use_tables);
/* Indexes table, which must not change while the index is in use. Returns false if out of memory. */
bool stack_index_build(struct stack_index *index, const struct map_table *table);
/* Returns the stack with this hash, or NULL. Valid until the next call. */
const struct stack_addresses *stack_index_find(struct stack_index *index, uint64_t hash);
/* Returns the id of the stack with this hash of process (0: of the Linux kernel); 0 if there is none. */
uint32_t stack_index_intern(struct stack_index *index, const struct iaprof_host *host, uint32_t process, uint64_t hash);
void stack_index_free(struct stack_index *index);

/* Reads a stack from a map into STACK_ROOM bytes. Returns false if it, or a piece of it, is not there. */
bool stack_read(int map, uint64_t hash, struct stack_addresses *stack);
