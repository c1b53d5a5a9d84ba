/* SPDX-License-Identifier: Apache-2.0 */
/* See stack_builder.h. */
#include "symbolizer/stack_builder.h"

#include <stdio.h>
#include <string.h>

/* Longer names of files are cut. */
#define NAMELESS_SIZE 64u

/* The frames are not cleared: most stacks use few of them. */
void stack_builder_begin(struct stack_builder *builder, struct stack_context *context)
{
	builder->context = context;
	builder->named_lines = false;
	builder->origin = (struct stack_origin){ 0 };
	builder->count = 0;
}

void stack_builder_push(struct stack_builder *builder, const struct iaprof_frame *frame)
{
	uint32_t id = builder->count < STACK_BUILDER_FRAMES_MAX ? frame_table_add(builder->context->frames, frame)
								: FRAME_NONE;
	if (id != FRAME_NONE)
		builder->frames[builder->count++] = id;
}

void stack_builder_push_unknown(struct stack_builder *builder, const char *name, uint32_t kind)
{
	stack_builder_push(builder,
			   &(struct iaprof_frame){ .name = name, .kind = kind, .flags = IAPROF_FRAME_UNKNOWN });
}

void stack_builder_push_program(struct stack_builder *builder, const char *name, uint32_t pid)
{
	stack_builder_push(builder, &(struct iaprof_frame){ .name = name,
							    .kind = IAPROF_FRAME_PROCESS,
							    .pid = builder->context->pids ? pid : 0 });
}

void stack_builder_set_thread(struct stack_builder *builder, struct thread_identity thread)
{
	builder->origin.tid = thread.tid;
	builder->origin.thread = thread.name ? intern_text(builder->context->intern, thread.name) : NULL;
}

/* process NULL: addresses of the Linux kernel. */
static void push_address(struct stack_builder *builder, struct process *process, uint64_t time, uint64_t address)
{
	builder->count +=
		(uint32_t)resolver_resolve(builder->context->resolver, process, time, address, builder->named_lines,
					   builder->frames + builder->count, STACK_BUILDER_FRAMES_MAX - builder->count);
}

/* Returns whether a file is CPython's interpreter: "python3.14", "libpython3.14.so.1.0". */
static bool is_interpreter(const char *module)
{
	const char *slash = module ? strrchr(module, '/') : NULL, *name = slash ? slash + 1 : module;
	if (name && !strncmp(name, "lib", 3))
		name += 3;
	return name && !strncmp(name, "python", 6) && name[6] >= '2' && name[6] <= '9';
}

/*
 * Functions of an interpreter without symbols are one frame, "[python3.14]": their addresses carry no information about
 * the program. Callers and callees with names stay.
 */
static void merge_nameless(struct stack_builder *builder, uint32_t begin)
{
	struct frame_table *frames = builder->context->frames;
	if (builder->count != begin + 1)
		return;
	const struct iaprof_frame *nameless = &frames->frames.items[builder->frames[begin]];
	/* Only those that are named after their address (set_nameless() in symbolizer.c). */
	if (!(nameless->flags & IAPROF_FRAME_UNKNOWN) || nameless->kind != IAPROF_FRAME_USER ||
	    !strstr(nameless->name, "+0x") || !is_interpreter(nameless->module))
		return;
	char name[NAMELESS_SIZE];
	const char *slash = strrchr(nameless->module, '/');
	snprintf(name, sizeof name, "[%s]", slash ? slash + 1 : nameless->module);
	struct iaprof_frame frame = *nameless;
	frame.name = name;
	frame.address = frame.offset = 0;
	builder->count--;
	stack_builder_push(builder, &frame);
	if (begin && builder->count == begin + 1 && builder->frames[begin] == builder->frames[begin - 1])
		builder->count--;
}

static struct interned_stack find_stack(struct stack_builder *builder, uint32_t id, uint32_t kind)
{
	struct interned_stack stack = intern_find_stack(builder->context->intern, id);
	if (!stack.count) {
		builder->context->stacks_unknown++;
		stack_builder_push_unknown(builder, "[stack expired]", kind);
	}
	return stack;
}

void stack_builder_push_user_stack(struct stack_builder *builder, uint32_t id, struct process *process, uint64_t time,
				   bool is_incomplete)
{
	struct interned_stack stack = find_stack(builder, id, IAPROF_FRAME_USER);
	uint32_t count = stack.count;
	while (is_incomplete && process && count > 1 && !interned_stack_is_named(stack.addresses[count - 1]) &&
	       !process_mapping_at(builder->context->processes, process, interned_stack_code(&stack, count - 1), time))
		count--;
	for (uint32_t i = count; i-- > 0;) {
		uint32_t begin = builder->count;
		if (process)
			push_address(builder, process, time, interned_stack_code(&stack, i));
		else
			stack_builder_push_unknown(builder, "[unknown]", IAPROF_FRAME_USER);
		merge_nameless(builder, begin);
	}
}

void stack_builder_push_kernel_stack(struct stack_builder *builder, uint32_t id, uint64_t time)
{
	struct interned_stack stack = find_stack(builder, id, IAPROF_FRAME_LINUX_KERNEL);
	for (uint32_t i = stack.count; i-- > 0;)
		push_address(builder, NULL, time, interned_stack_code(&stack, i));
}

void stack_builder_push_resolved(struct stack_builder *builder, uint32_t index)
{
	const struct frame_table *frames = builder->context->frames;
	const struct stack_entry *stack = &frames->stacks.items[index];
	memcpy(builder->frames, frames->stack_frames.items + stack->first,
	       stack->frame_count * sizeof *builder->frames);
	builder->count = stack->frame_count;
	builder->origin = stack->origin;
}

void stack_builder_push_reversed(struct stack_builder *builder, const struct stack_builder *other)
{
	for (uint32_t i = other->count; i-- > 0 && builder->count < STACK_BUILDER_FRAMES_MAX;)
		builder->frames[builder->count++] = other->frames[i];
}

uint32_t stack_builder_finish(const struct stack_builder *builder)
{
	return frame_table_add_stack(builder->context->frames, builder->frames, builder->count, &builder->origin);
}
