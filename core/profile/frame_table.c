/* SPDX-License-Identifier: Apache-2.0 */
/* Resolved frames and stacks, stored once: see frame_table.h. */
#include "profile/frame_table.h"

#include <stdio.h>
#include <string.h>

void frame_table_free(struct frame_table *table)
{
	string_table_free(&table->strings);
	array_free(&table->frames);
	array_free(&table->stack_frames);
	array_free(&table->stacks);
	hash_index_free(&table->frame_index);
	hash_index_free(&table->stack_index);
	array_free(&table->modules);
	hash_index_free(&table->module_index);
}

/* Texts are interned, so two frames are the same when their members are. */
static uint64_t frame_hash(const struct iaprof_frame *frame)
{
	const uint64_t members[] = { (uintptr_t)frame->name,
				     (uintptr_t)frame->module,
				     (uintptr_t)frame->file,
				     (uint64_t)frame->line << 32 | frame->kind,
				     (uint64_t)frame->flags << 32 | frame->pid,
				     frame->address,
				     frame->offset };
	return hash_bytes(members, sizeof members);
}

static bool frames_equal(const struct iaprof_frame *a, const struct iaprof_frame *b)
{
	return a->name == b->name && a->module == b->module && a->file == b->file && a->line == b->line &&
	       a->kind == b->kind && a->flags == b->flags && a->pid == b->pid && a->address == b->address &&
	       a->offset == b->offset;
}

static uint64_t frame_rehash(const void *context, uint32_t position)
{
	return frame_hash(&((const struct frame_table *)context)->frames.items[position]);
}

static uint64_t stack_rehash(const void *context, uint32_t position)
{
	return ((const struct frame_table *)context)->stacks.items[position].hash;
}

static const char *own_text(struct frame_table *table, const char *text)
{
	uint32_t id = text ? string_table_add(&table->strings, text, strlen(text), NULL) : 0;
	return id ? string_table_text(&table->strings, id) : NULL;
}

static uint64_t module_hash(const struct iaprof_module *module)
{
	return hash_pair((uintptr_t)module->path, (uintptr_t)module->build_id);
}

static uint64_t module_rehash(const void *context, uint32_t position)
{
	return module_hash(&((const struct frame_table *)context)->modules.items[position]);
}

bool frame_table_add_module(struct frame_table *table, const char *path, const uint8_t *build_id, size_t size)
{
	char text[2 * IAPROF_MODULE_BUILD_ID_SIZE_MAX + 1] = "";
	if (size > IAPROF_MODULE_BUILD_ID_SIZE_MAX)
		return false;
	for (size_t i = 0; i < size; i++)
		snprintf(text + 2 * i, sizeof text - 2 * i, "%02x", build_id[i]);
	const struct iaprof_module module = { .path = own_text(table, path), .build_id = own_text(table, text) };
	if (!module.path || !module.build_id)
		return false;
	for (struct hash_probe probe = hash_index_probe(&table->module_index, module_hash(&module));
	     hash_index_next(&table->module_index, &probe);)
		if (table->modules.items[probe.position].path == module.path &&
		    table->modules.items[probe.position].build_id == module.build_id)
			return false;
	uint32_t position = (uint32_t)table->modules.count;
	if (!array_push(&table->modules, module))
		return false;
	if (hash_index_add(&table->module_index, module_hash(&module), position, module_rehash, table))
		return true;
	table->modules.count--;
	return false;
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
	for (struct hash_probe probe = hash_index_probe(&table->frame_index, hash);
	     hash_index_next(&table->frame_index, &probe);)
		if (frames_equal(&table->frames.items[probe.position], &wanted))
			return probe.position;
	uint32_t position = (uint32_t)table->frames.count;
	if (!array_push(&table->frames, wanted))
		return FRAME_NONE;
	if (!hash_index_add(&table->frame_index, hash, position, frame_rehash, table)) {
		table->frames.count--;
		return FRAME_NONE;
	}
	return position;
}

uint32_t frame_table_add_stack(struct frame_table *table, const uint32_t *frames, size_t count)
{
	uint64_t hash = hash_bytes(frames, count * sizeof *frames);
	for (struct hash_probe probe = hash_index_probe(&table->stack_index, hash);
	     hash_index_next(&table->stack_index, &probe);) {
		const struct stack_entry *stack = &table->stacks.items[probe.position];
		if (stack->frame_count == count &&
		    !memcmp(table->stack_frames.items + stack->first, frames, count * sizeof *frames))
			return probe.position;
	}
	uint32_t position = (uint32_t)table->stacks.count;
	struct stack_entry stack = { .first = table->stack_frames.count, .frame_count = (uint32_t)count, .hash = hash };
	if (!array_reserve(&table->stack_frames, stack.first + count) || !array_push(&table->stacks, stack))
		return FRAME_NONE;
	if (!hash_index_add(&table->stack_index, hash, position, stack_rehash, table)) {
		table->stacks.count--;
		return FRAME_NONE;
	}
	memcpy(table->stack_frames.items + stack.first, frames, count * sizeof *frames);
	table->stack_frames.count += count;
	return position;
}
