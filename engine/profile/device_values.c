/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the correlator's results to the profile: see device_values.h. */
#include "profile/device_values.h"

#include "profile/loss.h"

static uint32_t declare_value_type(void *context, const struct iaprof_record_value_type *record)
{
	struct device_values *values = context;
	run_metadata_take_value_type(values->facts, record);
	return run_metadata_find_value_type(values->facts, record->id);
}

static bool add_value(void *context, uint32_t stack, uint32_t value_type, uint64_t value, uint64_t count)
{
	struct device_values *values = context;
	return value_type != LOSS_NO_VALUE_TYPE && value_table_add(values->values, stack, value_type, value, count);
}

static void add_time(void *context, uint32_t stack, uint32_t value_type, uint64_t begin, uint64_t end, uint64_t value)
{
	struct device_values *values = context;
	time_table_add(values->times, stack, value_type, begin, end, value);
}

static void add_metadata(void *context, const char *key, const char *value)
{
	struct device_values *values = context;
	run_metadata_note(values->facts, values->results, key, value);
}

struct correlator_output device_values_output(struct device_values *values)
{
	return (struct correlator_output){ .context = values,
					   .declare_value_type = declare_value_type,
					   .add_value = add_value,
					   .add_time = add_time,
					   .add_metadata = add_metadata };
}
