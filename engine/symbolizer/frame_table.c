/* SPDX-License-Identifier: Apache-2.0 */
/* See frame_table.h. */
#include "symbolizer/frame_table.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct frame_texts *frame_texts_reference(struct frame_texts *texts)
{
	if (texts)
		atomic_fetch_add(&texts->references, 1);
	return texts;
}

void frame_texts_release(struct frame_texts *texts)
{
	if (!texts || atomic_fetch_sub(&texts->references, 1) != 1)
		return;
	string_table_free(&texts->strings);
	free(texts);
}

void frame_table_free(struct frame_table *table)
{
	frame_texts_release(table->texts);
	table->texts = NULL;
	keyed_array_free(&table->rules_of_texts);
	array_free(&table->frames);
	array_free(&table->stack_frames);
	array_free(&table->stacks);
	hash_index_free(&table->frame_index);
	hash_index_free(&table->stack_index);
	array_free(&table->modules);
	hash_index_free(&table->module_index);
	keyed_array_free(&table->spans);
}

/* The rules follow from the rest of a frame. */
static uint32_t own_flags(const struct iaprof_frame *frame)
{
	return frame->flags & ~(uint32_t)IAPROF_FRAME_LIBRARY;
}

/* Texts are interned, so two frames are the same when their members are. */
static uint64_t frame_hash(const struct iaprof_frame *frame)
{
	const uint64_t members[] = { (uintptr_t)frame->name,
				     (uintptr_t)frame->module,
				     (uintptr_t)frame->file,
				     (uint64_t)frame->line << 32 | frame->kind,
				     (uint64_t)own_flags(frame) << 32 | frame->pid,
				     frame->address,
				     frame->offset };
	return hash_bytes(members, sizeof members);
}

static bool frames_equal(const struct iaprof_frame *a, const struct iaprof_frame *b)
{
	return a->name == b->name && a->module == b->module && a->file == b->file && a->line == b->line &&
	       a->kind == b->kind && own_flags(a) == own_flags(b) && a->pid == b->pid && a->address == b->address &&
	       a->offset == b->offset;
}

static const char *own_text(struct frame_table *table, const char *text)
{
	if (text && !table->texts) {
		table->texts = calloc(1, sizeof *table->texts);
		if (table->texts)
			atomic_init(&table->texts->references, 1);
	}
	if (!text || !table->texts)
		return NULL;
	return string_table_intern(&table->texts->strings, text, strlen(text));
}

size_t frame_table_size(const struct frame_table *table)
{
	/* With their entries in the indices, which are half full. */
	size_t index = 2 * sizeof(struct hash_slot);
	size_t texts = table->texts ? table->texts->strings.memory.size + table->texts->strings.entries.count *
										  (sizeof(struct string_entry) + index)
				    : 0;
	return texts + table->frames.count * (sizeof(struct iaprof_frame) + index) +
	       table->stacks.count * (sizeof(struct stack_entry) + index) +
	       table->spans.count * (sizeof(struct known_span) + index) + table->stack_frames.count * sizeof(uint32_t);
}

bool frame_table_add_module(struct frame_table *table, const char *path, const uint8_t *build_id, size_t size)
{
	char text[2 * IAPROF_MODULE_BUILD_ID_SIZE_MAX + 1];
	if (size > IAPROF_MODULE_BUILD_ID_SIZE_MAX)
		return false;
	sodium_bin2hex(text, sizeof text, build_id, size);
	const struct iaprof_module module = { .path = own_text(table, path), .build_id = own_text(table, text) };
	if (!module.path || !module.build_id)
		return false;
	uint64_t hash = hash_pair((uintptr_t)module.path, (uintptr_t)module.build_id);
	hash_index_each (probe, &table->module_index, hash)
		if (table->modules.items[probe.position].path == module.path &&
		    table->modules.items[probe.position].build_id == module.build_id)
			return false;
	return hash_index_push(&table->module_index, hash, &table->modules, module);
}

static uint32_t rule_of(struct frame_table *table, enum code_field field, const char *text)
{
	if (!text)
		return 0;
	struct rule_of_text wanted = { .key = { text, field } };
	const struct rule_of_text *known = keyed_array_get(&table->rules_of_texts, &wanted.key);
	if (known)
		return known->rule;
	wanted.rule = code_rules_find(table->rules, field, text);
	(void)keyed_array_add(&table->rules_of_texts, &wanted); /* found again without it */
	return wanted.rule;
}

/* Returns the last rule that matches code of a CPU; 0: none. */
static uint32_t code_rule_of(struct frame_table *table, const struct iaprof_frame *frame)
{
	bool is_cpu_code = frame->kind == IAPROF_FRAME_USER || frame->kind == IAPROF_FRAME_JIT ||
			   frame->kind == IAPROF_FRAME_PYTHON;
	if (!table->rules || (!is_cpu_code && frame->kind != IAPROF_FRAME_LINUX_KERNEL))
		return 0;
	const uint32_t rules[] = { is_cpu_code ? rule_of(table, CODE_FIELD_FILE, frame->file) : 0,
				   is_cpu_code ? rule_of(table, CODE_FIELD_MODULE, frame->module) : 0,
				   rule_of(table, CODE_FIELD_FUNCTION, frame->name) };
	uint32_t last = 0;
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		last = rules[i] > last ? rules[i] : last;
	return last;
}

/* Returns the rule of a kernel's class; 0: none, or the frame is not a kernel. */
static uint32_t kernel_rule_of(const struct frame_table *table, const struct iaprof_frame *frame)
{
	bool is_function = frame->kind == IAPROF_FRAME_DEVICE_FUNCTION &&
			   !(frame->flags & (IAPROF_FRAME_INLINED | IAPROF_FRAME_UNKNOWN));
	return table->rules && is_function ? code_rules_find(table->rules, CODE_FIELD_KERNEL, frame->name) : 0;
}

/* Sets what follows from the rules. */
static void rules_apply(struct frame_table *table, struct iaprof_frame *frame)
{
	uint32_t code = code_rule_of(table, frame);
	bool is_library = frame->kind != IAPROF_FRAME_LINUX_KERNEL && code_rules_is_library(table->rules, code);
	frame->flags = own_flags(frame) | (is_library ? IAPROF_FRAME_LIBRARY : 0);
	frame->kernel_class = own_text(table, code_rules_class(table->rules, code ?: kernel_rule_of(table, frame)));
}

uint32_t frame_table_add(struct frame_table *table, const struct iaprof_frame *frame)
{
	struct iaprof_frame wanted = *frame;
	wanted.name = own_text(table, frame->name ? frame->name : "");
	wanted.module = own_text(table, frame->module);
	wanted.file = own_text(table, frame->file);
	if (!wanted.name)
		return FRAME_NONE;
	uint64_t hash = frame_hash(&wanted);
	hash_index_each (probe, &table->frame_index, hash)
		if (frames_equal(&table->frames.items[probe.position], &wanted))
			return probe.position;
	rules_apply(table, &wanted);
	return hash_index_push(&table->frame_index, hash, &table->frames, wanted) ? (uint32_t)table->frames.count - 1
										  : FRAME_NONE;
}

uint32_t frame_table_add_span(struct frame_table *table, const struct iaprof_span *span)
{
	const struct known_span added = { *span };
	uint32_t position = table->spans.count < FRAME_TABLE_SPANS_MAX ? keyed_array_add(&table->spans, &added)
								       : keyed_array_find(&table->spans, span);
	return position == POSITION_NONE ? 0 : position + 1;
}

uint32_t frame_table_add_stack(struct frame_table *table, const uint32_t *frames, size_t count,
			       const struct stack_origin *origin)
{
	struct stack_entry wanted = { .first = table->stack_frames.count, .frame_count = (uint32_t)count };
	if (origin) {
		wanted.origin = *origin;
		wanted.origin.thread = own_text(table, origin->thread);
		if (origin->thread && !wanted.origin.thread)
			return FRAME_NONE;
	}
	/* Texts are interned, so two origins are the same when their bytes are. */
	uint64_t hash = hash_bytes(frames, count * sizeof *frames);
	if (origin)
		hash = hash_pair(hash, hash_bytes(&wanted.origin, sizeof wanted.origin));
	hash_index_each (probe, &table->stack_index, hash) {
		const struct stack_entry *stack = &table->stacks.items[probe.position];
		if (stack->frame_count == count && !memcmp(&stack->origin, &wanted.origin, sizeof wanted.origin) &&
		    !memcmp(table->stack_frames.items + stack->first, frames, count * sizeof *frames))
			return probe.position;
	}
	if (!array_reserve(&table->stack_frames, wanted.first + count) ||
	    !hash_index_push(&table->stack_index, hash, &table->stacks, wanted))
		return FRAME_NONE;
	memcpy(table->stack_frames.items + wanted.first, frames, count * sizeof *frames);
	table->stack_frames.count += count;
	return (uint32_t)table->stacks.count - 1;
}

uint32_t frame_table_add_from(struct frame_table *table, const struct frame_table *other, uint32_t stack)
{
	const struct stack_entry *entry = &other->stacks.items[stack];
	CLEANUP_FREE uint32_t *frames = malloc((entry->frame_count + 1) * sizeof *frames);
	bool is_complete = frames;
	for (uint32_t i = 0; is_complete && i < entry->frame_count; i++) {
		frames[i] = frame_table_add(table, &other->frames.items[other->stack_frames.items[entry->first + i]]);
		is_complete = frames[i] != FRAME_NONE;
	}
	struct stack_origin origin = entry->origin;
	if (origin.span)
		origin.span = frame_table_add_span(table, &other->spans.items[origin.span - 1].key);
	return is_complete ? frame_table_add_stack(table, frames, entry->frame_count, &origin) : FRAME_NONE;
}
