/* SPDX-License-Identifier: Apache-2.0 */
/* See stack_index.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>
#include "stack_index.h"

#define STACK_DEPTH_DEFAULT 127u /* PERF_MAX_STACK_DEPTH, include/uapi/linux/perf_event.h */

uint32_t stack_depth_read(void)
{
	uint32_t depth = 0;
	FILE *file = fopen("/proc/sys/kernel/perf_event_max_stack", "re");

	if (file) {
		if (fscanf(file, "%" SCNu32, &depth) != 1)
			depth = 0;
		fclose(file);
	}
	if (!depth)
		depth = STACK_DEPTH_DEFAULT;
	return depth < IAPROF_STACK_DEPTH_MAX ? depth : IAPROF_STACK_DEPTH_MAX;
}

uint32_t stack_size(uint32_t depth)
{
	uint32_t room = (depth + STACK_HASH_STRIDE - 1) / STACK_HASH_STRIDE * STACK_HASH_STRIDE;
	return (uint32_t)(sizeof(struct stack_addresses) + room * sizeof(uint64_t));
}

static int entry_compare(const void *left, const void *right)
{
	const struct stack_index_entry *a = left, *b = right;
	return (a->hash > b->hash) - (a->hash < b->hash);
}

bool stack_index_build(struct stack_index *index, const struct map_table *table)
{
	if (table->count > index->capacity) {
		struct stack_index_entry *entries = realloc(index->entries, table->capacity * sizeof *entries);
		if (!entries)
			return false;
		index->entries = entries;
		index->capacity = table->capacity;
	}
	index->count = table->count;
	for (uint32_t i = 0; i < table->count; i++) {
		memcpy(&index->entries[i].hash, table->keys + i * table->key_size, sizeof index->entries[i].hash);
		index->entries[i].stack = (const void *)(table->values + i * table->value_size);
	}
	if (table->count)
		qsort(index->entries, table->count, sizeof *index->entries, entry_compare);
	return true;
}

const struct stack_addresses *stack_index_find(const struct stack_index *index, uint64_t hash)
{
	struct stack_index_entry wanted = { .hash = hash };
	const struct stack_index_entry *found = NULL;

	if (index->count && hash)
		found = bsearch(&wanted, index->entries, index->count, sizeof *index->entries, entry_compare);
	return found ? found->stack : NULL;
}

uint32_t stack_index_intern(const struct stack_index *index, const struct iaprof_host *host, uint32_t process,
			    uint64_t hash)
{
	const struct stack_addresses *stack = stack_index_find(index, hash);
	return stack ? host->intern_stack(host, process, (const uint64_t *)stack->addresses, stack->depth) : 0;
}

void stack_index_free(struct stack_index *index)
{
	free(index->entries);
}
