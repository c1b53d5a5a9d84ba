/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves the user stacks of launches and calls (STACK_FRAMES records), each stack once. Owned by the collector
 * thread.
 */
#pragma once

#include "base/keyed_array.h"
#include "bus/intern.h"
#include "bus/result_stream.h"
#include "symbolizer/stack_builder.h"

struct known_stack {
	uint32_t key; /* id */
};

/* Initialise with {0}, the context and results. */
struct event_stacks {
	struct stack_context context;
	struct result_stream *results;
	KEYED_ARRAY(struct known_stack) known;
	uint64_t missed; /* not resolved for lack of memory, or because they had expired */
};

/* Resolves the stack of a launch or call, unless it is known. */
void event_stacks_resolve(struct event_stacks *stacks, uint32_t stack, uint32_t pid, uint64_t time);
void event_stacks_free(struct event_stacks *stacks);
