/* SPDX-License-Identifier: Apache-2.0 */
/* Records for a collector: see collector_records.h. */
#include "collector_records.h"

#include <string.h>

struct intern *intern;
struct collector *collector;

void end_collector(void)
{
	collector_free(collector);
	collector = NULL;
	intern_free(intern);
	intern = NULL;
}

uint32_t text(const char *name)
{
	return intern_string(intern, name, strlen(name));
}

void take_of(uint16_t source, void *record, uint16_t type, size_t size, uint64_t time)
{
	struct iaprof_record *header = record;
	header->type = type;
	header->size = (uint32_t)size;
	header->time = time;
	header->source = source;
	collector_take(collector, &(struct iaprof_batch){ .records = record, .size = size, .count = 1 }, NULL, NULL);
}

void take(void *record, uint16_t type, size_t size, uint64_t time)
{
	take_of(1, record, type, size, time);
}

void take_cpu_type(uint64_t period)
{
	struct iaprof_record_value_type record = {
		.id = CPU_TYPE, .name = text("cpu"), .unit = text("nanoseconds"), .period = period
	};
	take(&record, IAPROF_RECORD_VALUE_TYPE, sizeof record, 0);
}

void take_process(uint32_t pid, uint32_t event, const char *name, uint64_t time)
{
	struct iaprof_record_process record = { .pid = pid, .event = event, .name = text(name) };
	take(&record, IAPROF_RECORD_PROCESS, sizeof record, time);
}

void take_sample_of(uint32_t value_type, uint32_t pid, uint32_t stack, uint64_t value, uint64_t time)
{
	struct iaprof_record_sample record = { .pid = pid,
					       .user_stack = stack,
					       .value_type = value_type,
					       .count = 1,
					       .value = value,
					       .first_time = time };
	take(&record, IAPROF_RECORD_SAMPLE, sizeof record, time);
}

void take_sample(uint32_t pid, uint64_t address, uint64_t value, uint64_t time)
{
	take_sample_of(CPU_TYPE, pid, intern_stack(intern, pid, &address, 1), value, time);
}

void take_sync(uint64_t time)
{
	struct iaprof_record_sync record = { 0 };
	take(&record, IAPROF_RECORD_SYNC, sizeof record, time);
}
