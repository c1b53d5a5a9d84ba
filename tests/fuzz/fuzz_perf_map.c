/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a perf map, in two pieces as a file that grows. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "symbolizer/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct perf_map map = { 0 };
	const char *text = (const char *)bytes;
	long taken = perf_map_add(&map, text, size / 2);
	if (taken < 0 || perf_map_index(&map))
		abort();
	if (perf_map_add(&map, text + taken, size - (size_t)taken) < 0 || perf_map_index(&map))
		abort();
	/* What is found holds the address, and no later entry does. */
	for (size_t i = 0; i < map.entries.count && i < 64; i++) {
		uint64_t address = map.entries.items[i].start, start;
		const char *name = perf_map_find(&map, address, &start);
		if (!name || start > address)
			abort();
		size_t last = i;
		for (size_t j = i; j < map.entries.count; j++)
			if (map.entries.items[j].start <= address && address < map.entries.items[j].end)
				last = j;
		if (strcmp(name, map.names.items + map.entries.items[last].name) != 0)
			abort();
	}
	perf_map_free(&map);
	return 0;
}
