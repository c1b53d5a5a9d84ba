/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the resolved stack of a CPU sample or call: see sample_stack.h. */
#include "profile/sample_stack.h"

#include <stdio.h>
#include "process/process_rank.h"
#include "profile/waiting_samples.h"

#define RANKED_NAME_SIZE 64u

/* Pushes a node of the call tree, preceded by its callers: at most IAPROF_CALL_DEPTH_MAX frames. */
static void push_calls(struct stack_builder *builder, const struct call_tree *calls, uint32_t node)
{
	uint32_t path[IAPROF_CALL_DEPTH_MAX], count = 0;
	for (uint32_t i = node; i != CALL_NONE; i = calls->nodes.items[i].parent)
		path[count++] = i;
	while (count-- > 0)
		stack_builder_push(
			builder, &(struct iaprof_frame){
					 .name = calls->functions.items[calls->nodes.items[path[count]].function].name,
					 .kind = IAPROF_FRAME_CALL });
}

/* A call without a process, such as in an interrupt handler, gets a frame too. */
static const char *unknown_program(const struct sample_key *key)
{
	return key->call && !key->pid ? "[no program]" : "[unknown]";
}

/* Pushes a frame for each reason why the user stack does not reach its root. Returns false if there is none. */
static bool push_reasons(struct stack_builder *builder, uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} reasons[] = { { IAPROF_SAMPLE_TRUNCATED, "[truncated]" },
			{ IAPROF_SAMPLE_NO_UNWIND_TABLE, "[no unwind table]" },
			{ IAPROF_SAMPLE_STACK_UNREADABLE, "[stack not readable]" } };
	bool found = false;
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (flags & reasons[i].flag) {
			stack_builder_push_unknown(builder, reasons[i].name, IAPROF_FRAME_USER);
			found = true;
		}
	return found;
}

/* Samples have names without the rank of the process. */
static const char *name_with_rank(const struct stack_context *context, const struct process *process, const char *name)
{
	const char *suffix = process && process->name ? process_rank_suffix(process->name) : NULL;
	char text[RANKED_NAME_SIZE];
	if (!suffix || process_rank_suffix(name))
		return name;
	int size = snprintf(text, sizeof text, "%s%s", name, suffix);
	if (size < 0 || (size_t)size >= sizeof text)
		return name;
	const char *ranked = intern_text(context->intern, intern_string(context->intern, text, (size_t)size));
	return *ranked ? ranked : name; /* out of memory */
}

/* Pushes the program and its user frames. */
static void push_user_part(struct stack_builder *builder, const struct sample_entry *entry)
{
	struct stack_context *context = builder->context;
	const struct sample_key *key = &entry->key;
	struct process *process = key->process ? process_table_by_serial(context->processes, key->process) : NULL;
	const char *name = intern_text(context->intern, key->name);
	if (!*name && process && process->name)
		name = process->name;
	stack_builder_push_program(builder, *name ? name_with_rank(context, process, name) : unknown_program(key),
				   key->pid);
	stack_builder_set_thread(builder, key->thread);
	builder->origin.span = key->span;
	/* What ran while a device was idle is shown by line, as what launched its kernels is. */
	builder->named_lines = key->flags & WAITING_IDLE_MASK;
	bool explained = push_reasons(builder, key->flags);
	if (key->user_stack)
		stack_builder_push_user_stack(builder, key->user_stack, process, entry->last_time,
					      key->flags & IAPROF_SAMPLE_NO_UNWIND_TABLE);
	else if (key->flags & IAPROF_SAMPLE_USER_STACK_MISSING && !explained)
		stack_builder_push_unknown(builder, "[unknown]", IAPROF_FRAME_USER);
}

uint32_t sample_stack_resolve_user(struct stack_context *context, const struct sample_entry *entry)
{
	struct stack_builder builder;
	stack_builder_begin(&builder, context);
	push_user_part(&builder, entry);
	return stack_builder_finish(&builder);
}

static void push_idle(struct stack_builder *builder, uint32_t flags)
{
	static const char *const names[] = { [IAPROF_DEVICE_UNKNOWN] = "[device idle]",
					     [IAPROF_DEVICE_GPU] = "[GPU idle]",
					     [IAPROF_DEVICE_NPU] = "[NPU idle]" };
	uint32_t kind = ((flags & WAITING_IDLE_MASK) >> WAITING_IDLE_SHIFT) - 1;
	if (kind < sizeof names / sizeof *names)
		stack_builder_push(builder, &(struct iaprof_frame){ .name = names[kind], .kind = IAPROF_FRAME_WAIT });
}

uint32_t sample_stack_resolve(struct stack_context *context, const struct call_tree *calls, struct wait_table *waits,
			      const struct sample_entry *entry)
{
	const struct sample_key *key = &entry->key;
	struct stack_builder builder;
	stack_builder_begin(&builder, context);
	if (key->flags & SAMPLE_USER_RESOLVED)
		stack_builder_push_resolved(&builder, key->user_stack);
	else
		push_user_part(&builder, entry);
	if (key->call)
		push_calls(&builder, calls, key->call - 1);
	if (key->kernel_stack)
		stack_builder_push_kernel_stack(&builder, key->kernel_stack, entry->last_time);
	else if (key->flags & IAPROF_SAMPLE_KERNEL_STACK_MISSING)
		stack_builder_push_unknown(&builder, "[unknown]", IAPROF_FRAME_LINUX_KERNEL);
	if (key->wait)
		wait_table_push(waits, &builder, key->wait);
	if (key->flags & WAITING_IDLE_MASK)
		push_idle(&builder, key->flags);
	builder.origin.device = (key->flags & WAITING_DEVICE_MASK) >> WAITING_DEVICE_SHIFT;
	return stack_builder_finish(&builder);
}
