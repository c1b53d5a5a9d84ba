/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the correlator's results to the profile: see device_values.h. */
#include "profile/device_values.h"

#include "base/clock.h"
#include "profile/loss.h"

static void send_value_type(struct device_values *values, uint32_t id, const struct iaprof_value_type *type)
{
	struct result_stream *results = values->results;
	const struct iaprof_record_value_type record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_VALUE_TYPE, .time = clock_monotonic() },
		.id = result_stream_text(results, intern_text(values->facts->intern, id)),
		.name = result_stream_text(results, type->name),
		.unit = result_stream_text(results, type->unit),
		.period = type->period,
		.role = type->role,
		.device_kind = type->device_kind,
		.sample_unit = result_stream_text(results, type->sample_unit),
		.flags = type->flags
	};
	result_stream_send(results, &record.header);
}

static uint32_t declare_value_type(void *context, const struct iaprof_record_value_type *record)
{
	struct device_values *values = context;
	bool is_changed = run_metadata_take_value_type(values->facts, record);
	uint32_t index = run_metadata_find_value_type(values->facts, record->id);
	if (is_changed && index != LOSS_NO_VALUE_TYPE)
		send_value_type(values, record->id, &values->facts->value_types.items[index]);
	return index;
}

static bool add_value(void *context, uint32_t stack, uint32_t value_type, uint64_t value, uint64_t count)
{
	struct device_values *values = context;
	return value_type != LOSS_NO_VALUE_TYPE && value_table_add(values->values, stack, value_type, value, count);
}

void device_values_add_time(struct time_table *times, const struct run_metadata *facts, uint32_t stack,
			    uint32_t value_type, uint64_t begin, uint64_t end, uint64_t value)
{
	bool is_sampled = value_type < facts->value_types.count &&
			  facts->value_types.items[value_type].role == IAPROF_VALUE_DEVICE_SAMPLES;
	(is_sampled ? time_table_add_samples : time_table_add)(times, stack, value_type, begin, end, value);
}

static void add_time(void *context, uint32_t stack, uint32_t value_type, uint64_t begin, uint64_t end, uint64_t value)
{
	struct device_values *values = context;
	device_values_add_time(values->times, values->facts, stack, value_type, begin, end, value);
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
