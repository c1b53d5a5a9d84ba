/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the contents of a BPF hash map into memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Contents of a map after map_table_drain(): count keys and count values. Set the sizes, zero the rest. */
struct map_table {
	unsigned char *keys;
	unsigned char *values;
	size_t key_size;
	size_t value_size;
	uint32_t count;
	uint32_t capacity;
};

/* Reads and deletes all elements of a hash map that no BPF program writes to. Returns 0 or a negative errno. */
int map_table_drain(struct map_table *table, int map);
void map_table_free(struct map_table *table);
