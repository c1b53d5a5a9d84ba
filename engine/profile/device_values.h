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

/* values must outlive the returned object. */
struct correlator_output device_values_output(struct device_values *values);
