/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the resolved stack of a CPU sample or a call: see sample_stack.h. */
#include "profile/sample_stack.h"

#include <string.h>
#include <iaprof/profile.h>

/* Two stacks of the greatest depth, and what is inlined into them; deeper ones lose their leaf end. */
#define FRAMES_MAX 4096

struct builder {
	struct sample_stack_context *context;
	uint32_t count;
	uint32_t frames[FRAMES_MAX];
};

static void push(struct builder *builder, const struct iaprof_frame *frame)
{
	uint32_t id = builder->count < FRAMES_MAX ? frame_table_add(builder->context->frames, frame) : FRAME_NONE;
	if (id != FRAME_NONE)
		builder->frames[builder->count++] = id;
}

static void push_note(struct builder *builder, const char *name, uint32_t kind)
{
	push(builder, &(struct iaprof_frame){ .name = name, .kind = kind, .flags = IAPROF_FRAME_UNKNOWN });
}

static void push_addresses(struct builder *builder, uint32_t stack_id, struct process *process, uint64_t time,
			   bool linux_kernel)
{
	struct interned_stack stack = intern_find_stack(builder->context->intern, stack_id);
	uint32_t kind = linux_kernel ? IAPROF_FRAME_LINUX_KERNEL : IAPROF_FRAME_USER;
	if (!stack.count) {
		builder->context->stacks_unknown++;
		push_note(builder, "[stack expired]", kind);
		return;
	}
	for (uint32_t i = stack.count; i-- > 0;) {
		uint64_t address = interned_stack_code(&stack, i);
		if (!linux_kernel && !process) {
			push_note(builder, "[unknown]", kind);
			continue;
		}
		builder->count += (uint32_t)resolver_resolve(builder->context->resolver, linux_kernel ? NULL : process,
							     time, address, builder->frames + builder->count,
							     FRAMES_MAX - builder->count);
	}
}

/* The calls that a node is nested in, and it. */
static void push_calls(struct builder *builder, uint32_t node)
{
	const struct call_tree *calls = builder->context->calls;
	uint32_t way[IAPROF_CALL_DEPTH_MAX], count = 0;
	for (uint32_t i = node; i != CALL_NONE && count < IAPROF_CALL_DEPTH_MAX; i = calls->nodes.items[i].parent)
		way[count++] = i;
	while (count-- > 0)
		push(builder, &(struct iaprof_frame){
				      .name = calls->functions.items[calls->nodes.items[way[count]].function].name,
				      .kind = IAPROF_FRAME_CALL });
}

/* What is called by no program, such as the handler of an interrupt, has a place too. */
static const char *unknown_program(const struct sample_key *key)
{
	return key->call && !key->pid ? "[no program]" : "[unknown]";
}

/* The program and its user frames. */
static void push_user_part(struct builder *builder, const struct sample_entry *entry)
{
	struct sample_stack_context *context = builder->context;
	const struct sample_key *key = &entry->key;
	struct process *process = key->process ? process_table_by_serial(context->processes, key->process) : NULL;
	const char *name = intern_text(context->intern, key->name);
	if (!*name && process && process->name)
		name = process->name;
	push(builder, &(struct iaprof_frame){ .name = *name ? name : unknown_program(key),
					      .kind = IAPROF_FRAME_PROCESS,
					      .pid = context->pids ? key->pid : 0 });
	if (key->flags & IAPROF_SAMPLE_TRUNCATED)
		push_note(builder, "[truncated]", IAPROF_FRAME_USER);
	if (key->user_stack)
		push_addresses(builder, key->user_stack, process, entry->last_time, false);
	else if (key->flags & IAPROF_SAMPLE_USER_STACK_MISSING)
		push_note(builder, "[unknown]", IAPROF_FRAME_USER);
}

/* What push_user_part() came to earlier. */
static void push_resolved(struct builder *builder, uint32_t index)
{
	const struct frame_table *frames = builder->context->frames;
	const struct stack_entry *stack = &frames->stacks.items[index];
	memcpy(builder->frames, frames->stack_frames.items + stack->first,
	       stack->frame_count * sizeof *builder->frames);
	builder->count = stack->frame_count;
}

uint32_t sample_stack_resolve_user(struct sample_stack_context *context, const struct sample_entry *entry)
{
	struct builder builder = { .context = context };
	push_user_part(&builder, entry);
	return frame_table_add_stack(context->frames, builder.frames, builder.count);
}

uint32_t sample_stack_resolve(struct sample_stack_context *context, const struct sample_entry *entry)
{
	const struct sample_key *key = &entry->key;
	struct builder builder = { .context = context };
	if (key->flags & SAMPLE_USER_RESOLVED)
		push_resolved(&builder, key->user_stack);
	else
		push_user_part(&builder, entry);
	if (key->call)
		push_calls(&builder, key->call - 1);
	if (key->kernel_stack)
		push_addresses(&builder, key->kernel_stack, NULL, entry->last_time, true);
	else if (key->flags & IAPROF_SAMPLE_KERNEL_STACK_MISSING)
		push_note(&builder, "[unknown]", IAPROF_FRAME_LINUX_KERNEL);
	return frame_table_add_stack(context->frames, builder.frames, builder.count);
}
