/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What samples of waits have beyond a stack: the reason, and the thread that ended the wait with its stack. Owned by
 * the collector thread.
 */
#pragma once

#include <stdint.h>
#include <iaprof/record.h>

#include "base/keyed_array.h"
#include "symbolizer/stack_builder.h"

/* No padding: it is hashed and compared as bytes. */
struct wait_key {
	uint32_t reason;     /* string id */
	uint32_t waker;      /* serial of its program image, 0: not known */
	uint32_t waker_name; /* string id, 0: not known */
	uint32_t waker_user_stack, waker_kernel_stack;
};

struct wait {
	struct wait_key key;
	uint32_t user_part; /* resolved program and user frames of the waker; FRAME_NONE: not yet */
	uint64_t last_time; /* of its newest sample, at which mappings are looked up */
};

/* Initialise with {0}. */
struct wait_table {
	KEYED_ARRAY(struct wait) waits;
};

void wait_table_free(struct wait_table *table);

/* Returns 1 + the position of the wait of a sample; 0 when out of memory. waker: its program image, or NULL. */
uint32_t wait_table_add(struct wait_table *table, const struct wait_key *key);
/* Adds the time of a sample of a wait. wait: as wait_table_add() returned it. */
void wait_table_note_time(struct wait_table *table, uint32_t wait, uint64_t time);
/* Resolves the user stacks of wakers in a program that is about to be removed. */
void wait_table_end_process(struct wait_table *table, struct stack_context *context, const struct process *process);
/*
 * Pushes the reason, and the waker's frames, leaf first: its innermost function lies next to what it woke. wait: as
 * wait_table_add() returned it.
 */
void wait_table_push(struct wait_table *table, struct stack_builder *builder, uint32_t wait);
