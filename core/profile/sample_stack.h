/* SPDX-License-Identifier: Apache-2.0 */
/* The resolved stack of a CPU sample or a call: program, user frames, Linux kernel frames or calls, root first. */
#ifndef IAPROF_CORE_PROFILE_SAMPLE_STACK_H
#define IAPROF_CORE_PROFILE_SAMPLE_STACK_H

#include "profile/call_tree.h"
#include "profile/resolver.h"
#include "profile/sample_table.h"

struct sample_stack_context {
	struct process_table *processes;
	struct resolver *resolver;
	struct frame_table *frames;
	struct intern *intern;
	const struct call_tree *calls;
	bool pids;               /* the pid is part of the program's frame */
	uint64_t stacks_unknown; /* counts stack ids that are not known any more */
};

/*
 * The index of the program and its user frames as a stack in the frame table, FRAME_NONE when out of memory: all that
 * needs the process. The entry may then go on under a key with SAMPLE_USER_RESOLVED.
 */
uint32_t sample_stack_resolve_user(struct sample_stack_context *context, const struct sample_entry *entry);

/* The index of the whole stack in the frame table, FRAME_NONE when out of memory. */
uint32_t sample_stack_resolve(struct sample_stack_context *context, const struct sample_entry *entry);

#endif
