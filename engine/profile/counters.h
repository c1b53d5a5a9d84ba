/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters over time in bounded memory: whenever a counter has too many points, adjacent points are merged in pairs.
 * Owned by the collector thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/activity.h>

#include "base/array.h"

#define COUNTERS_MAX 256u
#define COUNTER_POINTS_MAX 1024u

struct counter {
	uint16_t source;
	uint32_t id;
	uint32_t name, unit;     /* string ids */
	uint32_t kind;           /* enum iaprof_counter_kind */
	uint32_t device;         /* id, 0 if none */
	uint32_t pid;            /* 0: all, or none */
	uint32_t engine, labels; /* string ids, 0 if none */
	uint64_t values_per_point;
	uint64_t count;                            /* values */
	double last;                               /* value */
	ARRAY(struct iaprof_counter_point) points; /* at most COUNTER_POINTS_MAX */
};

/* Initialise with {0}. */
struct counters {
	ARRAY(struct counter) items;
	uint64_t dropped; /* values of undeclared counters, or beyond the limit */
};

/* Declares a counter; only the first declaration of an id has an effect. Returns false when out of memory. */
bool counters_take(struct counters *counters, const struct iaprof_record_counter *record);
/* Returns false when out of memory. */
bool counters_take_value(struct counters *counters, const struct iaprof_record_counter_value *record);
void counters_free(struct counters *counters);
