/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resolved stack of a CPU sample or call, root first: program, user frames, calls, Linux kernel frames, reason of a
 * wait; of idle time of a device, its frame follows.
 */
#pragma once

#include "profile/call_tree.h"
#include "profile/sample_table.h"
#include "profile/wait_table.h"
#include "symbolizer/stack_builder.h"

/*
 * Resolves the parts that depend on the process: the program and its user frames. Returns the index of the stack in the
 * frame table, or FRAME_NONE when out of memory. The entry can then be stored under a key with SAMPLE_USER_RESOLVED.
 */
uint32_t sample_stack_resolve_user(struct stack_context *context, const struct sample_entry *entry);

/* Returns the index of the whole stack in the frame table, FRAME_NONE when out of memory. */
uint32_t sample_stack_resolve(struct stack_context *context, const struct call_tree *calls, struct wait_table *waits,
			      const struct sample_entry *entry);
