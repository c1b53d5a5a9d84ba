/* SPDX-License-Identifier: Apache-2.0 */
/* See stall_rows.h. */
#include "stall_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturating.h"
#include "stacks/stack_text.h"

/* Parts of a stall stack; each may be NULL. */
struct stall_parts {
	const struct iaprof_frame *program, *file, *symbol, *instruction, *reason, *offset;
	uint32_t first, end; /* the CPU's frames, from first on */
	bool is_ambiguous;
};

static bool is_of_device(uint32_t kind)
{
	return kind >= IAPROF_FRAME_DEVICE_SOURCE && kind <= IAPROF_FRAME_DEVICE_OFFSET;
}

/* The first function is the kernel; the format has no inlined functions. */
static void take_device_frame(struct stall_parts *parts, const struct iaprof_frame *frame)
{
	switch (frame->kind) {
	case IAPROF_FRAME_DEVICE_SOURCE:
		parts->file = frame;
		break;
	case IAPROF_FRAME_DEVICE_FUNCTION:
		parts->symbol = parts->symbol ? parts->symbol : frame;
		break;
	case IAPROF_FRAME_DEVICE_INSTRUCTION:
		if (!(frame->flags & IAPROF_FRAME_PRODUCER))
			parts->instruction = frame;
		break;
	case IAPROF_FRAME_STALL_REASON:
		parts->reason = frame;
		break;
	case IAPROF_FRAME_DEVICE_OFFSET:
		parts->offset = frame;
		break;
	default:
		break;
	}
}

/* Returns false if the stack has no GPU stall. */
static bool take_apart(const struct iaprof_profile *profile, const struct iaprof_stack *stack,
		       struct stall_parts *parts)
{
	*parts = (struct stall_parts){ .end = stack->frame_count };
	bool is_stall = false;
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, stack->frames[i]);
		if (i == 0 && frame->kind == IAPROF_FRAME_PROCESS) {
			parts->program = frame;
			parts->first = 1;
		} else if (frame->kind == IAPROF_FRAME_SEPARATOR) {
			parts->is_ambiguous |= parts->end < i;
			parts->end = parts->end < i ? parts->end : i;
		} else if (is_of_device(frame->kind)) {
			parts->end = parts->end < i ? parts->end : i;
			take_device_frame(parts, frame);
			is_stall = true;
		}
	}
	return is_stall;
}

static void append_name(struct text *text, const char *name)
{
	size_t begin = text->size;
	text_append_name(text, name);
	for (size_t i = begin; !text->failed && i < text->size; i++)
		if (text->data[i] == ';') /* readers join functions with ';' */
			text->data[i] = ':';
}

static uint32_t id_of(struct stream_strings *strings, const struct iaprof_frame *frame)
{
	struct text text = { 0 };
	if (frame && !((frame->flags & IAPROF_FRAME_UNKNOWN) && strcmp(frame->name, "[unknown]") == 0))
		append_name(&text, frame->name);
	uint32_t id = stream_strings_id(strings, &text);
	text_free(&text);
	return id;
}

static uint32_t id_of_stack(struct stream_strings *strings, const struct iaprof_profile *profile,
			    const struct iaprof_stack *stack, const struct stall_parts *parts)
{
	static const struct stack_text_options options = { .annotate = true };
	struct text text = { 0 };
	for (uint32_t i = parts->first; i < parts->end; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, stack->frames[i]);
		if (stack_text_frame_is_hidden(frame, &options))
			continue;
		text_append_string(&text, text.size ? ";" : "");
		stack_text_append_frame(&text, frame, &options);
	}
	/*
	 * Marks an uncertain launch. The mark usually follows the separator, but readers add the separator themselves,
	 * so here it precedes it.
	 */
	if (parts->is_ambiguous) {
		text_append_string(&text, text.size ? ";" : "");
		text_append_string(&text, "[ambiguous]");
	}
	uint32_t id = stream_strings_id(strings, &text);
	text_free(&text);
	return id;
}

static size_t column_of(const struct iaprof_frame *reason, uint64_t value, struct stall_left_out *left_out)
{
	for (size_t i = 0; reason && i < STALL_COLUMN_COUNT; i++)
		if (strcmp(reason->name, stall_column_names[i]) == 0)
			return i;
	left_out->reason = reason ? reason->name : "[none]";
	left_out->reasons += value;
	return STALL_COLUMN_OTHER;
}

static bool is_lost(const struct iaprof_profile *profile, const struct iaprof_stack *stack)
{
	return iaprof_profile_frame(profile, stack->frames[0])->kind == IAPROF_FRAME_LOST;
}

static int compare_kernels(const struct stall_row *a, const struct stall_row *b)
{
	const uint32_t left[] = { a->program, a->pid, a->stack, a->file, a->symbol };
	const uint32_t right[] = { b->program, b->pid, b->stack, b->file, b->symbol };
	for (size_t i = 0; i < sizeof left / sizeof *left; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

bool stall_rows_same_kernel(const struct stall_row *left, const struct stall_row *right)
{
	return compare_kernels(left, right) == 0;
}

static int compare(const void *left, const void *right)
{
	const struct stall_row *a = left, *b = right;
	int result = compare_kernels(a, b);
	if (!result)
		result = (a->offset > b->offset) - (a->offset < b->offset);
	return result ? result : (a->instruction > b->instruction) - (a->instruction < b->instruction);
}

static void add_row(struct stall_rows *rows, const struct stall_row *row)
{
	struct stall_row *last = rows->count ? &rows->rows[rows->count - 1] : NULL;
	if (!last || compare(last, row) != 0) {
		rows->rows[rows->count++] = *row;
		return;
	}
	for (size_t i = 0; i < STALL_COLUMN_COUNT; i++)
		saturating_increase(&last->counts[i], row->counts[i]);
}

int stall_rows_make(struct stall_rows *rows, const struct iaprof_profile *profile, struct stream_strings *strings,
		    struct stall_left_out *left_out)
{
	*rows = (struct stall_rows){ .rows = calloc(profile->value_count + 1, sizeof *rows->rows) };
	if (!rows->rows)
		return -ENOMEM;
	size_t made = 0;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
		struct stall_parts parts;
		if (!value->value || is_lost(profile, stack))
			continue;
		if (!take_apart(profile, stack, &parts)) {
			left_out->values++;
			left_out->type = iaprof_profile_value_type(profile, value->value_type)->name;
			continue;
		}
		struct stall_row *row = &rows->rows[made++];
		*row = (struct stall_row){ .address = parts.symbol ? parts.symbol->address : 0,
					   .program = id_of(strings, parts.program),
					   .pid = parts.program ? parts.program->pid : 0,
					   .stack = id_of_stack(strings, profile, stack, &parts),
					   .file = parts.file ? id_of(strings, parts.file) : STREAM_UNKNOWN_FILE,
					   .symbol = id_of(strings, parts.symbol),
					   .instruction = id_of(strings, parts.instruction),
					   .offset = parts.offset ? parts.offset->offset : 0 };
		row->counts[column_of(parts.reason, value->value, left_out)] = value->value;
	}
	if (strings->failed)
		return -ENOMEM;
	qsort(rows->rows, made, sizeof *rows->rows, compare);
	for (size_t i = 0; i < made; i++) {
		struct stall_row row = rows->rows[i];
		add_row(rows, &row);
	}
	return 0;
}

void stall_rows_free(struct stall_rows *rows)
{
	free(rows->rows);
	*rows = (struct stall_rows){ 0 };
}
