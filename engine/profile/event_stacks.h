/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves the user stacks of launches and calls (STACK_FRAMES records): each stack once, as soon as the process
 * records up to its time have arrived, because the process may exit. Owned by the collector thread.
 */
#pragma once

#include "base/keyed_array.h"
#include "bus/intern.h"
#include "bus/result_stream.h"
#include "symbolizer/stack_builder.h"

struct known_stack {
	uint32_t key; /* id */
};

/* An unresolved stack of an event. */
struct event_stack {
	uint32_t stack, pid;
	uint64_t time;
};

/* Initialise with {0}, the context and results. */
struct event_stacks {
	struct stack_context context;
	struct result_stream *results;
	ARRAY(struct event_stack) waiting;
	KEYED_ARRAY(struct known_stack) known; /* pending or resolved */
	uint64_t missed;                       /* not resolved for lack of memory, or because they had expired */
};

/* Adds the stack of a launch or call. */
void event_stacks_add(struct event_stacks *stacks, uint32_t stack, uint32_t pid, uint64_t time);
/* Resolves the stacks of events up to a time. */
void event_stacks_name(struct event_stacks *stacks, uint64_t until);
void event_stacks_free(struct event_stacks *stacks);
