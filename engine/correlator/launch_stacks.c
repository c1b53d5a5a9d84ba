/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU part of device stacks: see launch_stacks.h. */
#include "correlator/launch_stacks.h"

#include <string.h>

/* Limit on stacks; beyond it, all are removed, and resolved again when used. Expired stacks return with new ids. */
#define ITEMS_MAX 65536

void launch_stacks_free(struct launch_stacks *launch_stacks)
{
	keyed_array_free(&launch_stacks->items);
}

void launch_stacks_forget_ended(struct launch_stacks *launch_stacks)
{
	for (uint32_t i = (uint32_t)launch_stacks->items.count; i-- > 0;) {
		uint32_t process = launch_stacks->items.items[i].key.process;
		if (!process || !process_table_by_serial(launch_stacks->context.processes, process))
			keyed_array_remove(&launch_stacks->items, i);
	}
}

static uint32_t build_stack(struct launch_stacks *launch_stacks, const struct launch_stack_key *key, uint64_t time)
{
	struct stack_context *context = &launch_stacks->context;
	struct process *process = key->process ? process_table_by_serial(context->processes, key->process) : NULL;
	struct stack_builder builder;
	stack_builder_begin(&builder, context);
	builder.named_lines = true;
	stack_builder_push_program(&builder, process && process->name && *process->name ? process->name : "[unknown]",
				   key->pid);
	stack_builder_set_thread(&builder, key->thread);
	/* A LAUNCH record has no flags: a stack of the maximum depth may be truncated. */
	if (key->user_stack && intern_find_stack(context->intern, key->user_stack).count >= IAPROF_STACK_DEPTH_MAX)
		stack_builder_push_unknown(&builder, "[truncated]", IAPROF_FRAME_USER);
	if (key->user_stack)
		stack_builder_push_user_stack(&builder, key->user_stack, process, time, false);
	if (key->kernel_stack)
		stack_builder_push_kernel_stack(&builder, key->kernel_stack, time);
	if (key->kind == LAUNCH_STACK_NOT_LAUNCHED)
		stack_builder_push_unknown(&builder, "[launch not seen]", IAPROF_FRAME_USER);
	return stack_builder_finish(&builder);
}

static uint32_t find_or_build_stack(struct launch_stacks *launch_stacks, const struct launch_stack_key *key,
				    uint64_t time)
{
	const struct launch_stack *known = keyed_array_get(&launch_stacks->items, key);
	if (known)
		return known->stack;
	struct launch_stack launch_stack = { .key = *key, .stack = build_stack(launch_stacks, key, time) };
	if (launch_stacks->items.count >= ITEMS_MAX)
		launch_stacks_free(launch_stacks);
	if (launch_stack.stack != FRAME_NONE)
		(void)keyed_array_add(&launch_stacks->items, &launch_stack);
	return launch_stack.stack;
}

static uint32_t serial_at(const struct launch_stacks *launch_stacks, uint32_t pid, uint64_t time)
{
	const struct process *process = pid ? process_table_find(launch_stacks->context.processes, pid, time) : NULL;
	return process ? process->serial : 0;
}

uint32_t launch_stacks_of_launch(struct launch_stacks *launch_stacks, const struct iaprof_record_launch *launch)
{
	struct thread_table *threads = launch_stacks->context.threads;
	struct launch_stack_key key = { .process = serial_at(launch_stacks, launch->pid, launch->header.time),
					.pid = launch->pid,
					.user_stack = launch->user_stack,
					.kernel_stack = launch->kernel_stack,
					.kind = LAUNCH_STACK_LAUNCHED };
	if (threads)
		key.thread = thread_table_place(threads, thread_table_process(key.process, key.pid), launch->tid,
						iaprof_record_launch_thread_name(launch), launch->count);
	return find_or_build_stack(launch_stacks, &key, launch->header.time);
}

uint32_t launch_stacks_of_process(struct launch_stacks *launch_stacks, uint32_t pid, uint64_t time,
				  enum launch_stack_kind kind)
{
	struct launch_stack_key key = { .process = serial_at(launch_stacks, pid, time), .pid = pid, .kind = kind };
	return find_or_build_stack(launch_stacks, &key, time);
}
