/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of a run as a request of OTLP metrics. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "metrics/metrics.h"
#include "metrics/own_cost.h"
#include "otlp/resource.h"
#include "text/text.h"

/* CLOCK_REALTIME ns. */
struct metrics_interval {
	uint64_t start; /* of the run, from which counters count */
	uint64_t end;
};

/* Appends the encoded request, and sets *count to the number of its data points. Returns false when out of memory. */
bool metrics_message_append(struct text *text, const struct metrics *metrics, const struct own_cost *cost,
			    const struct resource *resource, const struct metrics_interval *interval, uint32_t *count);
