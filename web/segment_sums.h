/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of one segment of a ring, by metric, program, device and service. */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "base/string_table.h"

/* Limits of a segment, and on what a segment may make the server read. */
#define SEGMENT_SUMS_MAX 192u
#define SEGMENT_BYTES_MAX ((uint64_t)256 << 20)
/* Limits of all segments: more names are added up as one. */
#define SEGMENT_NAMES_MAX 65536u
#define SEGMENT_METRICS_MAX 32u

enum segment_group { SEGMENT_TOTAL, SEGMENT_PROGRAM, SEGMENT_DEVICE, SEGMENT_SERVICE, SEGMENT_GROUP_COUNT };

struct segment_sum {
	uint32_t name; /* of the program, device or service, in segment_names.names; 0: total */
	uint16_t metric;
	uint16_t group; /* enum segment_group */
	double value;
};

struct segment_metric {
	uint32_t name, unit; /* in segment_names.names */
};

/* Names of all segments, which their sums refer to. Initialise with {0}. */
struct segment_names {
	struct string_table names;
	ARRAY(struct segment_metric) metrics;
};
void segment_names_free(struct segment_names *names);

struct segment_sums {
	ARRAY(struct segment_sum);
};

/*
 * Adds up a segment. Returns 0; -ENOMEM; -EBADMSG or another negative errno for one that is damaged, with the sums up
 * to the damage.
 */
int segment_sums_read(struct segment_sums *sums, struct segment_names *names, int folder, const char *name);
