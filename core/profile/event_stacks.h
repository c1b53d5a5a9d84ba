/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for the user stacks of launches and calls (STACK_FRAMES records): each stack once, as soon as everything is
 * known of the processes up to its time, for the process may be gone later. Belongs to the collector's thread.
 */
#ifndef IAPROF_CORE_PROFILE_EVENT_STACKS_H
#define IAPROF_CORE_PROFILE_EVENT_STACKS_H

#include "bus/bus.h"
#include "bus/intern.h"
#include "process/process.h"
#include "profile/frame_table.h"
#include "profile/resolver.h"

struct event_stacks_context {
	struct process_table *processes;
	struct resolver *resolver;
	const struct frame_table *frames;
	struct intern *intern;
	struct bus *bus;
};

/* A stack that was seen with an event and has no names yet. */
struct event_stack {
	uint32_t stack, pid;
	uint64_t time;
};

/* Initialise with {0} and the context. */
struct event_stacks {
	struct event_stacks_context context;
	ARRAY(struct event_stack) waiting;
	ARRAY(uint32_t) known; /* ids that wait, or were named */
	struct hash_index known_index;
	uint64_t missed; /* could not be named for lack of memory, or because they had expired */
};

/* A launch or call has this stack. */
void event_stacks_add(struct event_stacks *stacks, uint32_t stack, uint32_t pid, uint64_t time);
/* Names the stacks of events up to a time. */
void event_stacks_name(struct event_stacks *stacks, uint64_t until);
void event_stacks_free(struct event_stacks *stacks);

#endif
