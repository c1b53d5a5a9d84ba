/* SPDX-License-Identifier: Apache-2.0 */
/* Resolved frames and stacks, each stored once under a number. Belongs to the collector's thread; not locked. */
#ifndef IAPROF_CORE_PROFILE_FRAME_TABLE_H
#define IAPROF_CORE_PROFILE_FRAME_TABLE_H

#include <stdbool.h>
#include <iaprof/profile.h>

#include "base/string_table.h"

#define FRAME_NONE UINT32_MAX

/* A resolved stack: where its frame ids are, root first. */
struct stack_entry {
	size_t first; /* position in frame_table.stack_frames */
	uint32_t frame_count;
	uint64_t hash;
};

/* Initialise with {0}. */
struct frame_table {
	struct string_table strings;
	ARRAY(struct iaprof_frame) frames;
	struct hash_index frame_index;
	ARRAY(uint32_t) stack_frames;
	ARRAY(struct stack_entry) stacks;
	struct hash_index stack_index;
	ARRAY(struct iaprof_module) modules;
	struct hash_index module_index;
};

void frame_table_free(struct frame_table *table);

/* The id of a frame with these contents; its texts are copied. FRAME_NONE when out of memory. */
uint32_t frame_table_add(struct frame_table *table, const struct iaprof_frame *frame);

/*
 * Adds a file that frames are in, and its build id of size bytes. False when it is there already, when the build id is
 * longer than IAPROF_MODULE_BUILD_ID_SIZE_MAX, and when memory runs out.
 */
bool frame_table_add_module(struct frame_table *table, const char *path, const uint8_t *build_id, size_t size);

/* The index of a stack of count frame ids, root first. FRAME_NONE when out of memory. */
uint32_t frame_table_add_stack(struct frame_table *table, const uint32_t *frames, size_t count);

#endif
