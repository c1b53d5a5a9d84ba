/* SPDX-License-Identifier: Apache-2.0 */
/* Data about a run as a whole: see run_metadata.h. */
#include "profile/run_metadata.h"

#include <string.h>

#include "base/clock.h"
#include "profile/loss.h"
#include "stacks/value_label.h"
#include "text/text.h"

/* Limits that no real run reaches, so that a damaged capture cannot cause large tables. */
#define KERNEL_SIDE_COUNTERS_MAX 64
#define VALUE_TYPES_MAX 256
#define SOURCES_MAX 1024

/* Limit on the number of keys and values together. */
#define METADATA_COUNT_MAX 512

void run_metadata_free(struct run_metadata *facts)
{
	array_free(&facts->sources);
	array_free(&facts->kernel_side_counters);
	array_free(&facts->value_type_ids);
	array_free(&facts->value_types);
	array_free(&facts->metadata);
	array_free(&facts->metadata_owners);
}

bool run_metadata_take_source(struct run_metadata *facts, const struct iaprof_record_source *record)
{
	for (size_t i = 0; i < facts->sources.count; i++)
		if (facts->sources.items[i].number == record->number)
			return true;
	if (record->number == 0 || record->number > UINT16_MAX || facts->sources.count >= SOURCES_MAX)
		return true;
	struct source_name source = { .number = (uint16_t)record->number,
				      .name = intern_text(facts->intern, record->name) };
	return array_push(&facts->sources, source);
}

const char *run_metadata_source_name(const struct run_metadata *facts, uint16_t number)
{
	for (size_t i = 0; i < facts->sources.count; i++)
		if (facts->sources.items[i].number == number)
			return facts->sources.items[i].name;
	return number ? "[unknown source]" : "iaprof";
}

/* Adds what a record states of the role. Returns whether that changed anything. */
static bool complete_value_type(const struct run_metadata *facts, struct iaprof_value_type *type,
				const struct iaprof_record_value_type *record)
{
	const struct iaprof_value_type before = *type;
	if (!iaprof_record_value_type_has_role(record))
		return false;
	const char *unit = record->sample_unit ? intern_text(facts->intern, record->sample_unit) : NULL;
	uint32_t kind = record->device_kind ? record->device_kind : device_kind_of_name(type->name);
	if (type->role != record->role) {
		type->role = record->role;
		type->device_kind = kind;
		type->sample_unit = unit;
	}
	if (type->device_kind != kind)
		type->device_kind = IAPROF_DEVICE_UNKNOWN;
	if (type->sample_unit != unit)
		type->sample_unit = NULL;
	type->flags |= record->flags;
	return memcmp(&before, type, sizeof before) != 0;
}

bool run_metadata_take_value_type(struct run_metadata *facts, const struct iaprof_record_value_type *record)
{
	uint32_t known = run_metadata_find_value_type(facts, record->id);
	if (known != LOSS_NO_VALUE_TYPE)
		return complete_value_type(facts, &facts->value_types.items[known], record);
	struct iaprof_value_type type = { .name = intern_text(facts->intern, record->name),
					  .unit = intern_text(facts->intern, record->unit),
					  .period = record->period };
	type.role = value_role_of_name(type.name, type.unit);
	(void)complete_value_type(facts, &type, record);
	if (facts->value_types.count >= VALUE_TYPES_MAX || !array_push(&facts->value_types, type))
		return false;
	if (!array_push(&facts->value_type_ids, record->id))
		facts->value_types.count--;
	return true;
}

const char *run_metadata_find_metadata(const struct run_metadata *facts, const char *key)
{
	for (size_t i = 0; i + 1 < facts->metadata.count; i += 2)
		if (!strcmp(facts->metadata.items[i], key))
			return facts->metadata.items[i + 1];
	return NULL;
}

/* A replay has what the core of the recorded run found from a source. */
static bool is_same_source(const struct run_metadata *facts, const char *name, const char *other)
{
	const char *core = run_metadata_source_name(facts, 0);
	return !strcmp(name, other) || !strcmp(name, core) || !strcmp(other, core);
}

/* Returns the key under which others see that of a source; NULL when out of memory. */
static const char *key_of_source(struct intern *intern, const char *key, const char *source)
{
	struct text text = { 0 };
	text_append_format(&text, "%s (%s)", key, source);
	uint32_t id = text.failed ? 0 : intern_own_text(intern, text_string(&text));
	text_free(&text);
	return id ? intern_text(intern, id) : NULL;
}

void run_metadata_take_metadata(struct run_metadata *facts, uint16_t source, const char *key, const char *value)
{
	struct metadata_owner owner = { key, run_metadata_source_name(facts, source) };
	bool is_shared = false;
	for (size_t i = 0; i < facts->metadata_owners.count; i++) {
		const struct metadata_owner *other = &facts->metadata_owners.items[i];
		if (strcmp(other->key, key) != 0)
			continue;
		if (is_same_source(facts, owner.source, other->source)) {
			facts->metadata.items[2 * i + 1] = value;
			return;
		}
		is_shared = true;
	}
	if (facts->metadata.count >= METADATA_COUNT_MAX)
		return;
	if (is_shared)
		key = key_of_source(facts->intern, key, owner.source);
	if (!key || !array_reserve(&facts->metadata, facts->metadata.count + 2) ||
	    !array_push(&facts->metadata_owners, owner))
		return;
	facts->metadata.items[facts->metadata.count++] = key;
	facts->metadata.items[facts->metadata.count++] = value;
}

void run_metadata_note(struct run_metadata *facts, struct result_stream *results, const char *key, const char *value)
{
	/* Their texts are kept with the metadata. */
	(void)intern_own_text(facts->intern, key);
	(void)intern_own_text(facts->intern, value);
	struct iaprof_record_metadata record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_METADATA, .time = clock_monotonic() },
		.key = result_stream_text(results, key),
		.value = result_stream_text(results, value),
	};
	run_metadata_take_metadata(facts, 0, intern_text(facts->intern, record.key),
				   intern_text(facts->intern, record.value));
	result_stream_send(results, &record.header);
}

void run_metadata_take_counter(struct run_metadata *facts, const struct iaprof_record_counter *record)
{
	if (facts->kernel_side_counters.count < KERNEL_SIDE_COUNTERS_MAX &&
	    !strcmp(intern_text(facts->intern, record->name), COUNTER_KERNEL_SIDE_TIME))
		array_push(&facts->kernel_side_counters,
			   ((struct kernel_side_counter){ .source = record->header.source, .id = record->id }));
}

void run_metadata_take_counter_value(struct run_metadata *facts, const struct iaprof_record_counter_value *record)
{
	double sum = 0;
	for (size_t i = 0; i < facts->kernel_side_counters.count; i++) {
		struct kernel_side_counter *counter = &facts->kernel_side_counters.items[i];
		if (counter->source == record->header.source && counter->id == record->counter)
			counter->value = record->value;
		sum += counter->value;
	}
	facts->kernel_side_time = sum > 0 && sum < 1e18 ? (uint64_t)sum : 0;
}
