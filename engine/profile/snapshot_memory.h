/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a snapshot: arrays that are freed together. */
#pragma once

#include <string.h>

#include "base/array.h"

/* Initialise with {0}. */
struct snapshot_memory {
	ARRAY(void *) blocks;
	size_t size; /* bytes */
	bool failed; /* an allocation failed */
};

/* Returns a zeroed array, or NULL when out of memory. */
static inline void *snapshot_allocate(struct snapshot_memory *memory, size_t count, size_t size)
{
	void *items = array_reserve(&memory->blocks, memory->blocks.count + 1) ? calloc(count ? count : 1, size) : NULL;
	if (items)
		memory->blocks.items[memory->blocks.count++] = items;
	memory->size += count * size;
	memory->failed |= !items;
	return items;
}

static inline void *snapshot_copy(struct snapshot_memory *memory, const void *items, size_t count, size_t size)
{
	void *copy = snapshot_allocate(memory, count, size);
	if (copy && count)
		memcpy(copy, items, count * size);
	return copy;
}

static inline void snapshot_memory_free(struct snapshot_memory *memory)
{
	for (size_t i = 0; i < memory->blocks.count; i++)
		free(memory->blocks.items[i]);
	array_free(&memory->blocks);
}
