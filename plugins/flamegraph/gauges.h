/* SPDX-License-Identifier: Apache-2.0 */
/* Levels of devices over time, such as a frequency: values are put together two by two as often as their bound asks. */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_GAUGES_H
#define IAPROF_PLUGINS_FLAMEGRAPH_GAUGES_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "common/definitions.h"
#include "common/text.h"

#define GAUGES_MAX 64u
#define GAUGE_POINTS_MAX 1024u

/* Values that were set one after the other. */
struct gauge_point {
	uint64_t begin, end; /* when the first and the last were set */
	uint64_t count;
	double minimum, maximum, mean;
};

struct gauge {
	uint16_t source;
	uint32_t counter;
	uint64_t together; /* so many values make a point; 0: there are none yet */
	uint32_t point_count;
	struct gauge_point points[GAUGE_POINTS_MAX];
};

/* Initialise with {0}. */
struct gauges {
	struct gauge *items[GAUGES_MAX];
	uint32_t count;
	uint64_t dropped; /* values of counters that were too many */
};

/* Takes a value of a counter that is a gauge of a device; others are left alone. False: out of memory. */
bool gauges_take(struct gauges *gauges, const struct definitions *definitions,
		 const struct iaprof_record_counter_value *record);

/* Makes a time, from begin to end, one in which all values are. */
void gauges_widen(const struct gauges *gauges, uint64_t *begin, uint64_t *end);

/* As a list of JSON; times since an origin that is not after any of them. */
void gauges_append(struct text *text, const struct gauges *gauges, const struct definitions *definitions,
		   uint64_t origin);

void gauges_free(struct gauges *gauges);

#endif
