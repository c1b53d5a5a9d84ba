/* SPDX-License-Identifier: Apache-2.0 */
/* Parsers of the xe driver's query answers. Each function returns 0, or -EINVAL for an inconsistent answer. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Larger than on any GPU (XE_MAX_TILES_PER_DEVICE 2, two GTs each, Linux 7.0). */
#define QUERY_GTS_MAX 16u
/* Xe-cores of a GT: the driver's masks have 128 bits (XE_MAX_DSS_FUSE_BITS, Linux 7.0). */
#define QUERY_XE_CORES_MAX 256u
#define QUERY_RATES_MAX 32u

struct query_gt {
	uint16_t id;
	bool main; /* has Xe-cores; a media GT has none */
	uint16_t version_major, version_minor;
	uint32_t xe_cores;
};

struct query_gts {
	size_t count;
	struct query_gt gts[QUERY_GTS_MAX];
};

struct query_eu_stall {
	uint32_t row_size;               /* bytes */
	uint32_t buffer_size;            /* bytes per Xe-core's ring: a multiple of row_size */
	size_t rate_count;               /* at least 1 */
	uint32_t rates[QUERY_RATES_MAX]; /* GPU cycles between samples, ascending, each once */
};

int query_parse_device_id(const void *answer, size_t size, uint16_t *device_id);
/* Fills in everything except the Xe-cores. */
int query_parse_gts(const void *answer, size_t size, struct query_gts *gts);
/* Counts the Xe-cores of each GT. */
int query_parse_topology(const void *answer, size_t size, struct query_gts *gts);
int query_parse_eu_stall(const void *answer, size_t size, struct query_eu_stall *eu_stall);
