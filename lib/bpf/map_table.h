/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the contents of a BPF hash map into memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct bpf_map;

/* Contents of a map after map_table_drain(): count keys and count values. Initialise with {0}. */
struct map_table {
	unsigned char *keys;
	unsigned char *values;
	size_t key_size;
	size_t value_size;
	uint32_t count;
	uint32_t capacity;
};

/*
 * Reads and deletes all elements of a hash map that no BPF program writes to; it has the sizes of the first one that
 * the table was used for. Returns 0 or a negative errno.
 */
int map_table_drain(struct map_table *table, const struct bpf_map *map);
void map_table_free(struct map_table *table);
