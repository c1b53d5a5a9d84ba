/* SPDX-License-Identifier: Apache-2.0 */
/* See usage_records.h. */
#include "usage_records.h"

#include <stdlib.h>
#include <string.h>

/* Set by sources that sample CPUs. */
#define METADATA_CPUS "CPUs sampled"

bool usage_records_define(struct usage_records *usage, const struct iaprof_batch *batch)
{
	bool is_wanted = false;
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));)
		switch (record->type) {
		case IAPROF_RECORD_DEVICE:
			is_wanted = true;
			/* fall through */
		case IAPROF_RECORD_STRING:
		case IAPROF_RECORD_VALUE_TYPE:
			/* Without a definition, the text is "[unknown]". */
			definitions_take(&usage->definitions, record);
			break;
		case IAPROF_RECORD_METADATA:
		case IAPROF_RECORD_SAMPLE:
		case IAPROF_RECORD_DEVICE_ACTIVITY:
		case IAPROF_RECORD_JOB:
			is_wanted = true;
			break;
		default:
			break;
		}
	return is_wanted;
}

static void take_metadata(const struct definitions *definitions, struct meters *meters,
			  const struct iaprof_record_metadata *record)
{
	const char *key = definitions_text(definitions, record->key);
	if (!strcmp(key, METADATA_CPUS))
		meters->cpus = (uint32_t)strtoul(definitions_text(definitions, record->value), NULL, 10);
}

static struct meter *find_device(const struct definitions *definitions, struct meters *meters, uint16_t source,
				 uint32_t device)
{
	const struct iaprof_record_device *known = definitions_find(definitions, IAPROF_RECORD_DEVICE, source, device);
	return known ? meters_device(meters, source, device, definitions_text(definitions, known->name)) : NULL;
}

/* A sample stands for the time before it. Process 0 is the idle task of a CPU. */
static void take_sample(const struct definitions *definitions, struct model *model,
			const struct iaprof_record_sample *record)
{
	const struct iaprof_record_value_type *type =
		definitions_find(definitions, IAPROF_RECORD_VALUE_TYPE, 0, record->value_type);
	const char *name = type ? definitions_text(definitions, type->name) : "";
	uint64_t one = record->count ? record->value / record->count : record->value, end = record->header.time;
	if (!record->pid || strcmp(name, "cpu") != 0 ||
	    strcmp(definitions_text(definitions, type->unit), "nanoseconds"))
		return;
	uint64_t begin = record->first_time < end && record->first_time ? record->first_time : end;
	meters_add_busy(&model->meters, meters_cpu(&model->meters), METER_BUSY, begin > one ? begin - one : 0, end,
			record->value);
}

static void take_activity(const struct definitions *definitions, struct meters *meters,
			  const struct iaprof_record_device_activity *record)
{
	struct meter *meter = find_device(definitions, meters, record->header.source, record->device);
	meters_add_busy(meters, meter, METER_BUSY, record->begin, record->header.time, record->busy);
}

/* Jobs of a device run one after the other, unless records state when they started. */
static void take_job(const struct definitions *definitions, struct meters *meters,
		     const struct iaprof_record_job *record)
{
	struct meter *meter = find_device(definitions, meters, record->header.source, record->device);
	uint64_t begin = record->started ? record->started : record->queued ? record->queued : record->submitted;
	uint64_t end = record->header.time;
	if (!meter || !begin || iaprof_record_job_is_estimate(record) || iaprof_record_job_copy(record))
		return;
	if (begin < meter->last_end)
		begin = meter->last_end;
	if (begin >= end)
		return;
	meters_add_busy(meters, meter, METER_JOBS, begin, end, end - begin);
	meter->last_end = end;
}

void usage_records_add(const struct usage_records *usage, struct model *model, const struct iaprof_batch *batch)
{
	const struct definitions *definitions = &usage->definitions;
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));)
		switch (record->type) {
		case IAPROF_RECORD_DEVICE:
			find_device(definitions, &model->meters, record->source,
				    ((const struct iaprof_record_device *)record)->id);
			break;
		case IAPROF_RECORD_METADATA:
			take_metadata(definitions, &model->meters, (const struct iaprof_record_metadata *)record);
			break;
		case IAPROF_RECORD_SAMPLE:
			take_sample(definitions, model, (const struct iaprof_record_sample *)record);
			break;
		case IAPROF_RECORD_DEVICE_ACTIVITY:
			take_activity(definitions, &model->meters,
				      (const struct iaprof_record_device_activity *)record);
			break;
		case IAPROF_RECORD_JOB:
			take_job(definitions, &model->meters, (const struct iaprof_record_job *)record);
			break;
		default:
			break;
		}
}

void usage_records_free(struct usage_records *usage)
{
	definitions_free(&usage->definitions);
}
