/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that a process made at run time, as its runtime lists them in /tmp/perf-PID.map: lines of
 * "START SIZE NAME" with hexadecimal numbers. Memory is used again, so a later line wins over earlier ones.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_PERF_MAP_H
#define IAPROF_CORE_SYMBOLIZER_PERF_MAP_H

#include "symbolizer/range_table.h"

/* A larger file is not read; the largest runtimes write some 20 MiB. */
#define PERF_MAP_SIZE_MAX ((size_t)256 << 20)

struct perf_map_entry {
	uint64_t start, end;
	size_t name; /* where in names */
};

/* Initialise with {0}. */
struct perf_map {
	ARRAY(struct perf_map_entry) entries; /* in order of the file */
	ARRAY(char) names;
	struct range_table ranges; /* not overlapping; value: position of the entry */
	uint64_t skipped;          /* lines that are not as they should be */
};

/* Adds the lines of a text; a last one without its newline is left. Returns the bytes taken, or -ENOMEM. */
long perf_map_add(struct perf_map *map, const char *text, size_t length);
/* Makes ready for perf_map_find(), after adding. Returns 0 or -ENOMEM. */
int perf_map_index(struct perf_map *map);
/* The function at address and where it starts, or NULL. The name is the map's, until the next change. */
const char *perf_map_find(const struct perf_map *map, uint64_t address, uint64_t *start);
void perf_map_free(struct perf_map *map);

#endif
