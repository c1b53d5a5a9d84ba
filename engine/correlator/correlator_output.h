/* SPDX-License-Identifier: Apache-2.0 */
/* Receives the correlator's results; implemented by profile/device_values.h. Collector thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

struct correlator_output {
	void *context;
	/*
	 * Returns the index of a value type, which is declared if it is new: then name and unit are set. The record
	 * states its role.
	 */
	uint32_t (*declare_value_type)(void *context, const struct iaprof_record_value_type *record);
	/* Adds to a stack of the frame table. Returns false when out of memory, or if there is no such value type. */
	bool (*add_value)(void *context, uint32_t stack, uint32_t value_type, uint64_t value, uint64_t count);
	/* Reports the time of a part of what was added: begin <= end, both inclusive. */
	void (*add_time)(void *context, uint32_t stack, uint32_t value_type, uint64_t begin, uint64_t end,
			 uint64_t value);
	/* Adds to the metadata of the run; copies the texts. */
	void (*add_metadata)(void *context, const char *key, const char *value);
};
