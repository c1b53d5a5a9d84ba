/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a jitdump, in two pieces as a file that grows. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include "symbolizer/jit_dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct perf_map map = { 0 };
	const char *dump = (const char *)bytes;
	long taken = jit_dump_add(&map, dump, size / 2, true);
	if (taken < 0 && taken != -EINVAL)
		abort();
	if (taken >= 0 && (size_t)taken < size) {
		long more = jit_dump_add(&map, dump + taken, size - (size_t)taken, !taken);
		if (more < 0 && more != -EINVAL)
			abort();
	}
	if (perf_map_index(&map))
		abort();
	for (size_t i = 0; i < map.entries.count && i < 64; i++) {
		uint64_t start;
		const char *name = perf_map_find(&map, map.entries.items[i].start, &start);
		if (!name || !*name || start > map.entries.items[i].start)
			abort();
	}
	perf_map_free(&map);
	return 0;
}
