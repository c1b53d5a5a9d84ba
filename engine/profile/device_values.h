/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the correlator's results to the tables of the profile. Owned by the collector thread. */
#pragma once

#include "correlator/correlator_output.h"
#include "profile/run_metadata.h"
#include "profile/time_table.h"
#include "profile/value_table.h"

struct device_values {
	struct value_table *values;
	struct time_table *times;
	struct run_metadata *facts;
	struct result_stream *results; /* for METADATA and VALUE_TYPE records */
};

/* Adds the time of a value, whose value type is the index of one in the metadata. */
void device_values_add_time(struct time_table *times, const struct run_metadata *facts, uint32_t stack,
			    uint32_t value_type, uint64_t begin, uint64_t end, uint64_t value);

/* values must outlive the returned object. */
struct correlator_output device_values_output(struct device_values *values);
