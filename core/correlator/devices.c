/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that are sampled: see devices.h. */
#include "correlator/devices.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DEVICES_MAX 1024
#define REASONS_MAX 4096
#define COUNTERS_MAX 4096

/* Names of a source's counters about a device (record.h, COUNTER). */
#define COUNTER_ROWS "rows"
#define COUNTER_OVERFLOWS "overflows"

void devices_free(struct devices *devices)
{
	array_free(&devices->items);
	array_free(&devices->reasons);
	array_free(&devices->counters);
}

static struct sampled_device *find(const struct devices *devices, uint16_t source, uint32_t id)
{
	for (size_t i = 0; i < devices->items.count; i++)
		if (devices->items.items[i].source == source && devices->items.items[i].id == id)
			return &devices->items.items[i];
	return NULL;
}

static struct sampled_device *add(struct devices *devices, uint16_t source, uint32_t id, const char *name,
				  const char *address)
{
	struct sampled_device device = { .source = source, .id = id, .samples.name = name, .samples.address = address };
	if (devices->items.count >= DEVICES_MAX || !array_push(&devices->items, device))
		return NULL;
	return &devices->items.items[devices->items.count - 1];
}

void devices_take(struct devices *devices, const struct iaprof_record_device *record)
{
	if (!find(devices, record->header.source, record->id))
		add(devices, record->header.source, record->id, intern_text(devices->intern, record->name),
		    intern_text(devices->intern, record->address));
}

struct sampled_device *devices_find(struct devices *devices, uint16_t source, uint32_t id)
{
	struct sampled_device *found = find(devices, source, id);
	return found ? found : add(devices, source, id, "unknown device", "");
}

void devices_take_reason(struct devices *devices, const struct iaprof_record_stall_reason *record)
{
	struct stall_reason reason = { .source = record->header.source,
				       .id = record->id,
				       .flags = record->header.size >= sizeof *record ? record->flags : 0,
				       .name = intern_text(devices->intern, record->name) };
	for (size_t i = 0; i < devices->reasons.count; i++)
		if (devices->reasons.items[i].source == reason.source && devices->reasons.items[i].id == reason.id)
			return;
	if (devices->reasons.count < REASONS_MAX)
		(void)array_push(&devices->reasons, reason);
}

const char *devices_reason(const struct devices *devices, uint16_t source, uint32_t id, uint32_t *flags)
{
	for (size_t i = 0; i < devices->reasons.count; i++) {
		const struct stall_reason *reason = &devices->reasons.items[i];
		if (reason->source != source || reason->id != id)
			continue;
		*flags = reason->flags;
		return reason->name;
	}
	char text[32];
	*flags = 0;
	int length = snprintf(text, sizeof text, "reason %u", id);
	return intern_text(devices->intern, intern_string(devices->intern, text, (size_t)length));
}

void devices_take_counter(struct devices *devices, const struct iaprof_record_counter *record)
{
	const char *name = intern_text(devices->intern, record->name);
	bool is_rows = !strcmp(name, COUNTER_ROWS);
	if (!record->device || (!is_rows && strcmp(name, COUNTER_OVERFLOWS)))
		return;
	struct device_counter counter = {
		.source = record->header.source, .id = record->id, .device = record->device, .is_rows = is_rows
	};
	if (devices->counters.count < COUNTERS_MAX)
		(void)array_push(&devices->counters, counter);
}

void devices_take_counter_value(struct devices *devices, const struct iaprof_record_counter_value *record)
{
	for (size_t i = 0; i < devices->counters.count; i++) {
		const struct device_counter *counter = &devices->counters.items[i];
		if (counter->source != record->header.source || counter->id != record->counter)
			continue;
		struct sampled_device *device = devices_find(devices, counter->source, counter->device);
		uint64_t value = record->value > 0 && record->value < 1e18 ? (uint64_t)record->value : 0;
		if (device)
			*(counter->is_rows ? &device->samples.rows : &device->samples.overflows) = value;
		return;
	}
}

/* The same model twice: its GTs have the same names. */
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

void device_samples_describe(const struct device_samples *samples, char *text, size_t size)
{
	char unlaunched[64] = "";
	if (samples->unlaunched)
		snprintf(unlaunched, sizeof unlaunched, " (%" PRIu64 " of launches not seen)", samples->unlaunched);
	snprintf(text, size,
		 "%" PRIu64 " rows, %" PRIu64 " samples: %" PRIu64 " matched%s, %" PRIu64 " ambiguous, %" PRIu64
		 " unmatched; %" PRIu64 " overflows",
		 samples->rows, samples->samples, samples->matched, unlaunched, samples->ambiguous, samples->unmatched,
		 samples->overflows);
}
