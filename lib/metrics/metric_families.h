/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of a run, family by family, for those who write them in a format. What is not known has no point.
 * Not locked.
 */
#pragma once

#include <stdint.h>

#include "metrics/metrics.h"
#include "metrics/own_cost.h"

enum metric_kind {
	METRIC_COUNTER, /* never decreases during a run */
	METRIC_GAUGE,
	METRIC_SUM, /* a gauge whose values add up over labels, such as used memory */
};

struct metric_family {
	const char *prometheus; /* name, with its unit: "iaprof_device_busy_seconds_total"; NULL: not served there */
	const char *otlp;       /* name of OpenTelemetry: "iaprof.device.busy.time"; NULL: not sent there */
	const char *unit;       /* UCUM: "s", "By", "1", "{sample}" */
	enum metric_kind kind;
	const char *help;
};

enum metric_number_type { METRIC_INTEGER, METRIC_NANOSECONDS, METRIC_REAL };

struct metric_number {
	enum metric_number_type type;
	uint64_t integer; /* or nanoseconds */
	double real;
};

/* A label without a value is to be left out. */
struct metric_label {
	const char *name, *value;
};

/* Each family is followed by its points, of which it may have none. labels ends with one without a name. */
struct metric_visitor {
	void *context;
	void (*family)(void *context, const struct metric_family *family);
	void (*point)(void *context, const struct metric_family *family, const struct metric_label *labels,
		      struct metric_number number);
};

void metric_families_visit(const struct metrics *metrics, const struct own_cost *cost,
			   const struct metric_visitor *visitor);
