/* SPDX-License-Identifier: Apache-2.0 */
/* See map_table.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "bpf/map_table.h"

static bool table_grow(struct map_table *table)
{
	uint32_t capacity = table->capacity ? table->capacity * 2 : 128;
	unsigned char *keys = realloc(table->keys, capacity * table->key_size);
	if (!keys)
		return false;
	table->keys = keys;
	unsigned char *values = realloc(table->values, capacity * table->value_size);
	if (!values)
		return false;
	table->values = values;
	/* Zeroed for valgrind, which does not see that the Linux kernel writes here; growth is rare. */
	memset(keys + table->capacity * table->key_size, 0, (capacity - table->capacity) * table->key_size);
	memset(values + table->capacity * table->value_size, 0, (capacity - table->capacity) * table->value_size);
	table->capacity = capacity;
	return true;
}

int map_table_drain(struct map_table *table, const struct bpf_map *map)
{
	uint32_t position = 0; /* cursor of the Linux kernel: the number of a bucket */
	bool begun = false;

	table->key_size = bpf_map__key_size(map);
	table->value_size = bpf_map__value_size(map);
	table->count = 0;
	for (;;) {
		if (table->count == table->capacity && !table_grow(table))
			return -ENOMEM;
		uint32_t count = table->capacity - table->count;
		int result =
			bpf_map_lookup_and_delete_batch(bpf_map__fd(map), begun ? &position : NULL, &position,
							table->keys + table->count * table->key_size,
							table->values + table->count * table->value_size, &count, NULL);
		if (result == -ENOSPC) { /* the buffer is too small for one bucket; nothing was moved */
			if (!table_grow(table))
				return -ENOMEM;
			continue;
		}
		if (result == -EINTR || result == -EAGAIN)
			continue;
		if (result && result != -ENOENT)
			return result;
		table->count += count;
		begun = true;
		if (result == -ENOENT)
			return 0;
	}
}

void map_table_free(struct map_table *table)
{
	free(table->keys);
	free(table->values);
}
