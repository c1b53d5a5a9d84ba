/* SPDX-License-Identifier: Apache-2.0 */
/* Sampled devices: see sampled_devices.h. */
#include "correlator/sampled_devices.h"
#include "text/plural.h"
#include "text/quantity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REASONS_MAX 4096
#define COUNTERS_MAX 4096

void sampled_devices_free(struct sampled_devices *devices)
{
	array_free(&devices->items);
	array_free(&devices->reasons);
	array_free(&devices->counters);
}

struct sampled_device *sampled_devices_get(const struct sampled_devices *devices, uint16_t source, uint32_t id)
{
	for (size_t i = 0; i < devices->items.count; i++)
		if (devices->items.items[i].source == source && devices->items.items[i].id == id)
			return &devices->items.items[i];
	return NULL;
}

struct sampled_device *sampled_devices_find(struct sampled_devices *devices, uint16_t source, uint32_t id)
{
	struct sampled_device *known = sampled_devices_get(devices, source, id);
	struct sampled_device added = { .source = source,
					.id = id,
					.value_name = DEVICES_VALUE_NAME,
					.value_unit = DEVICES_VALUE_UNIT,
					.samples.name = "unknown device",
					.samples.address = "" };
	if (known || devices->items.count >= DEVICES_MAX || !array_push(&devices->items, added))
		return known;
	return &devices->items.items[devices->items.count - 1];
}

void sampled_devices_take(struct sampled_devices *devices, const struct iaprof_record_device *record)
{
	struct sampled_device *device = sampled_devices_find(devices, record->header.source, record->id);
	if (!device || device->is_announced)
		return;
	device->is_announced = true;
	device->address = record->address;
	device->samples.name = intern_text(devices->intern, record->name);
	device->samples.address = intern_text(devices->intern, record->address);
	if (IAPROF_HAS_MEMBER(record, record->header.size, sample_unit)) {
		device->kind = record->kind;
		device->sample_unit = record->sample_unit;
	}
	if (record->header.size < offsetof(struct iaprof_record_device, kind))
		return;
	const char *name = intern_text(devices->intern, record->value_name);
	const char *unit = intern_text(devices->intern, record->value_unit);
	device->value_name = *name ? name : device->value_name;
	device->value_unit = *unit ? unit : device->value_unit;
}

size_t sampled_devices_main(const struct sampled_devices *devices, size_t position)
{
	const struct sampled_device *items = devices->items.items, *device = &items[position];
	for (size_t i = 0; *device->samples.address && !device->sample_unit && i < devices->items.count; i++)
		if (items[i].sample_unit && items[i].source != device->source &&
		    !strcmp(items[i].samples.address, device->samples.address))
			return i;
	return position;
}

void sampled_devices_take_reason(struct sampled_devices *devices, const struct iaprof_record_stall_reason *record)
{
	bool has_class = IAPROF_HAS_MEMBER(record, record->header.size, stall_class);
	struct stall_reason reason = { .source = record->header.source,
				       .id = record->id,
				       .flags = has_class ? record->flags : 0,
				       .stall_class = has_class && record->stall_class <= IAPROF_STALL_ISSUING
							      ? record->stall_class
							      : IAPROF_STALL_UNKNOWN,
				       .name = intern_text(devices->intern, record->name) };
	for (size_t i = 0; i < devices->reasons.count; i++)
		if (devices->reasons.items[i].source == reason.source && devices->reasons.items[i].id == reason.id)
			return;
	if (devices->reasons.count < REASONS_MAX)
		(void)array_push(&devices->reasons, reason);
}

struct stall_reason sampled_devices_reason(const struct sampled_devices *devices, uint16_t source, uint32_t id)
{
	for (size_t i = 0; i < devices->reasons.count; i++)
		if (devices->reasons.items[i].source == source && devices->reasons.items[i].id == id)
			return devices->reasons.items[i];
	char text[32];
	snprintf(text, sizeof text, "reason %u", id);
	return (struct stall_reason){ .name = intern_text(devices->intern, intern_own_text(devices->intern, text)) };
}

void sampled_devices_take_counter(struct sampled_devices *devices, const struct iaprof_record_counter *record)
{
	uint32_t role = record->header.size > offsetof(struct iaprof_record_counter, role) ? record->role
											   : IAPROF_COUNTER_ROLE_NONE;
	bool is_rows = role == IAPROF_COUNTER_ROLE_ROWS;
	if (!record->device || (!is_rows && role != IAPROF_COUNTER_ROLE_OVERFLOWS))
		return;
	struct device_counter counter = {
		.source = record->header.source, .id = record->id, .device = record->device, .is_rows = is_rows
	};
	if (devices->counters.count < COUNTERS_MAX)
		(void)array_push(&devices->counters, counter);
}

void sampled_devices_take_counter_value(struct sampled_devices *devices,
					const struct iaprof_record_counter_value *record)
{
	for (size_t i = 0; i < devices->counters.count; i++) {
		const struct device_counter *counter = &devices->counters.items[i];
		if (counter->source != record->header.source || counter->id != record->counter)
			continue;
		struct sampled_device *device = sampled_devices_find(devices, counter->source, counter->device);
		uint64_t value = record->value > 0 && record->value < 1e18 ? (uint64_t)record->value : 0;
		if (device)
			*(counter->is_rows ? &device->samples.rows : &device->samples.overflows) = value;
		return;
	}
}

/* Tiles of several cards of one model have the same names. */
void sampled_device_name(const struct sampled_device *devices, size_t count, size_t position, char *text, size_t size)
{
	const struct sampled_device *device = &devices[position];
	bool is_only = true, is_only_at_address = *device->samples.address;
	for (size_t i = 0; i < count; i++) {
		if (i == position || strcmp(devices[i].samples.name, device->samples.name))
			continue;
		is_only = false;
		is_only_at_address &= strcmp(devices[i].samples.address, device->samples.address) != 0;
	}
	if (is_only)
		snprintf(text, size, "%s", device->samples.name);
	else if (is_only_at_address)
		snprintf(text, size, "%s at %s", device->samples.name, device->samples.address);
	else
		snprintf(text, size, "%s (device %" PRIu32 " of source %u)", device->samples.name, device->id,
			 device->source);
}

const char *unmatched_reason_text(enum unmatched_reason reason)
{
	static const char *const texts[UNMATCHED_REASON_COUNT] = {
		[UNMATCHED_NOT_ANNOUNCED] = "no source announced code of their process",
		[UNMATCHED_UNREADABLE] = "outside all known code, and a code object of their process could not be read",
		[UNMATCHED_UNPLACED] =
			("outside all known code, and a code object of their process has no address (KERNEL "
			 "records can state it)"),
		[UNMATCHED_NO_BASE] = "relative addresses, and the instruction base of their process is not known",
		[UNMATCHED_OTHER_TIME] = "the code at their address was loaded later, or unloaded before",
		[UNMATCHED_NO_FUNCTION] = "between the functions of a code object",
		[UNMATCHED_NO_INSTRUCTION] = "in a GPU kernel, where no instruction of it can be decoded",
		[UNMATCHED_NO_KERNEL] = "their GPU kernel was not announced, or ends before their offset",
		[UNMATCHED_ELSEWHERE] = "outside all code objects and kernels of their process",
	};
	return texts[reason];
}

void device_samples_describe(const struct device_samples *samples, char *text, size_t size)
{
	char unlaunched[64] = "";
	if (samples->unlaunched)
		snprintf(unlaunched, sizeof unlaunched, " (%s of launches not seen)",
			 quantity_sum(samples->unlaunched).text);
	snprintf(text, size,
		 "%" PRIu64 " row%s, %s sample%s: %s matched%s, %s ambiguous, %s unmatched; %" PRIu64 " overflow%s",
		 samples->rows, plural(samples->rows), quantity_sum(samples->samples).text, plural(samples->samples),
		 quantity_sum(samples->matched).text, unlaunched, quantity_sum(samples->ambiguous).text,
		 quantity_sum(samples->unmatched).text, samples->overflows, plural(samples->overflows));
}
