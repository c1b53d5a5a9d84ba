/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a resolved stack, root first: program, user frames, Linux kernel frames, and any frames that the caller adds
 * in between. Owned by the collector thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "bus/intern.h"
#include "process/process.h"
#include "process/thread_table.h"
#include "symbolizer/frame_table.h"
#include "symbolizer/resolver.h"

/* Two stacks of the greatest depth with their inlined frames; deeper ones lose their leaf end. */
#define STACK_BUILDER_FRAMES_MAX 4096

struct stack_context {
	struct process_table *processes;
	struct resolver *resolver;
	struct frame_table *frames;
	struct intern *intern;
	bool pids;                    /* the program's frame includes the pid */
	bool spans;                   /* stacks of different spans are not merged */
	struct thread_table *threads; /* NULL: stacks of different threads are merged */
	uint64_t stacks_unknown;      /* stack ids that had expired */
};

struct stack_builder {
	struct stack_context *context;
	bool named_lines; /* the caller's: frames by name, such as Python functions, have their lines in any case */
	struct stack_origin origin;
	uint32_t count;
	uint32_t frames[STACK_BUILDER_FRAMES_MAX];
};

void stack_builder_begin(struct stack_builder *builder, struct stack_context *context);
void stack_builder_push(struct stack_builder *builder, const struct iaprof_frame *frame);
/* Pushes a name in brackets in place of frames that are unknown. */
void stack_builder_push_unknown(struct stack_builder *builder, const char *name, uint32_t kind);
void stack_builder_push_program(struct stack_builder *builder, const char *name, uint32_t pid);
void stack_builder_set_thread(struct stack_builder *builder, struct thread_identity thread);
/*
 * Pushes the frames of an interned stack as of a time. process NULL: its addresses have no names. is_incomplete: it
 * does not reach its root, and callers outside of all mappings are omitted: they come from registers that code without
 * frame pointers uses for other things.
 */
void stack_builder_push_user_stack(struct stack_builder *builder, uint32_t stack, struct process *process,
				   uint64_t time, bool is_incomplete);
void stack_builder_push_kernel_stack(struct stack_builder *builder, uint32_t stack, uint64_t time);
/* Begins with the frames and the origin of a stack in the frame table. */
void stack_builder_push_resolved(struct stack_builder *builder, uint32_t stack);
/* Appends the frames of another stack, leaf first. */
void stack_builder_push_reversed(struct stack_builder *builder, const struct stack_builder *other);
/* Adds the stack to the frame table. Returns its index, FRAME_NONE if out of memory. */
uint32_t stack_builder_finish(const struct stack_builder *builder);
