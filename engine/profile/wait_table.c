/* SPDX-License-Identifier: Apache-2.0 */
/* See wait_table.h. */
#include "profile/wait_table.h"

void wait_table_free(struct wait_table *table)
{
	keyed_array_free(&table->waits);
}

uint32_t wait_table_add(struct wait_table *table, const struct wait_key *key)
{
	struct wait added = { .key = *key, .user_part = FRAME_NONE };
	uint32_t position = keyed_array_add(&table->waits, &added);
	return position == POSITION_NONE ? 0 : 1 + position;
}

void wait_table_note_time(struct wait_table *table, uint32_t position, uint64_t time)
{
	struct wait *wait = &table->waits.items[position - 1];
	if (time > wait->last_time)
		wait->last_time = time;
}

/* Resolves the program of the waker and its user frames, root first. */
static void resolve_user_part(struct wait *wait, struct stack_context *context)
{
	struct stack_builder builder;
	struct process *process = process_table_by_serial(context->processes, wait->key.waker);
	stack_builder_begin(&builder, context);
	const char *name = wait->key.waker_name ? intern_text(context->intern, wait->key.waker_name) : "[unknown]";
	stack_builder_push_program(&builder, name, 0);
	if (wait->key.waker_user_stack)
		stack_builder_push_user_stack(&builder, wait->key.waker_user_stack, process, wait->last_time, false);
	wait->user_part = stack_builder_finish(&builder);
}

void wait_table_end_process(struct wait_table *table, struct stack_context *context, const struct process *process)
{
	for (size_t i = 0; i < table->waits.count; i++)
		if (table->waits.items[i].key.waker == process->serial && table->waits.items[i].user_part == FRAME_NONE)
			resolve_user_part(&table->waits.items[i], context);
}

static void push_wait_frame(struct stack_builder *builder, const char *name)
{
	stack_builder_push(builder, &(struct iaprof_frame){ .name = name, .kind = IAPROF_FRAME_WAIT });
}

void wait_table_push(struct wait_table *table, struct stack_builder *builder, uint32_t position)
{
	struct wait *wait = &table->waits.items[position - 1];
	push_wait_frame(builder, intern_text(builder->context->intern, wait->key.reason));
	if (!wait->key.waker_name)
		return;
	push_wait_frame(builder, "[woken by]");
	if (wait->user_part == FRAME_NONE)
		resolve_user_part(wait, builder->context);
	struct stack_builder waker;
	stack_builder_begin(&waker, builder->context);
	if (wait->user_part != FRAME_NONE)
		stack_builder_push_resolved(&waker, wait->user_part);
	if (wait->key.waker_kernel_stack)
		stack_builder_push_kernel_stack(&waker, wait->key.waker_kernel_stack, wait->last_time);
	stack_builder_push_reversed(builder, &waker);
}
