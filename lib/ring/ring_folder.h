/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of a ring: captures of consecutive intervals (segments), named after their time. Sink ring writes it and
 * source replay reads it. Everything else in the folder is left alone and not read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

/* "20261126T013000.123456789Z-60000000000.iaprof": begin, and length in ns. */
#define RING_NAME_SIZE 64
/* A file with this prefix is a segment that was not completed. */
#define RING_PARTIAL ".partial-"

struct ring_segment {
	uint64_t begin, end; /* CLOCK_REALTIME ns */
	uint64_t size;       /* bytes */
	char name[RING_NAME_SIZE];
};

struct ring_segments {
	ARRAY(struct ring_segment);
	size_t partial; /* number of segments that were not completed */
};

/* Returns the default folder, which the caller frees; NULL when out of memory or without a home. */
char *ring_folder_default(void);

/* Writes the name of a segment. Returns false if a time is out of range. */
bool ring_segment_name(struct ring_segment *segment);
/* Reads begin and end from a name. Returns false if it is not that of a segment. */
bool ring_segment_parse(struct ring_segment *segment, const char *name);

/*
 * Lists the segments of a folder in order of time; only regular files. Returns 0 or a negative errno; the caller frees
 * the array in any case.
 */
int ring_folder_list(int folder, struct ring_segments *segments);
