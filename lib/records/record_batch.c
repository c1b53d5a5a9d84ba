/* SPDX-License-Identifier: Apache-2.0 */
/* See record_batch.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/saturating.h"
#include "records/record_batch.h"

/* A batch is sent at this many bytes: 900 samples, more than most drains return. */
#define BATCH_SIZE (64u * 1024)

int record_batch_init(struct record_batch *batch, const struct iaprof_host *host)
{
	*batch = (struct record_batch){ .host = host, .records = malloc(BATCH_SIZE) };
	return batch->records ? 0 : host->fail(host, ENOMEM, "out of memory");
}

void record_batch_free(struct record_batch *batch)
{
	free(batch->records);
}

int record_batch_flush(struct record_batch *batch)
{
	struct iaprof_batch full = { .records = batch->records, .size = batch->size, .count = batch->count };

	batch->size = 0;
	batch->count = 0;
	return full.count ? batch->host->emit(batch->host, &full) : 0;
}

int record_batch_append(struct record_batch *batch, const struct iaprof_record *record)
{
	if (batch->size + record->size > BATCH_SIZE) {
		int result = record_batch_flush(batch);
		if (result)
			return result;
	}
	memcpy(batch->records + batch->size, record, record->size);
	batch->size += record->size;
	batch->count++;
	return 0;
}

uint32_t record_batch_text(const struct record_batch *batch, const char *text)
{
	return text ? batch->host->intern_string(batch->host, text, strlen(text)) : 0;
}

int record_batch_declare_counter(struct record_batch *batch, const struct record_counter *counter, uint64_t time)
{
	struct iaprof_record_counter record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_COUNTER, .time = time },
		.id = counter->id,
		.name = record_batch_text(batch, counter->name),
		.unit = record_batch_text(batch, counter->unit),
		.kind = counter->kind ? counter->kind : IAPROF_COUNTER_CUMULATIVE,
		.device = counter->device,
		.role = counter->role,
	};
	return record_batch_append(batch, &record.header);
}

int record_batch_set_counter(struct record_batch *batch, uint32_t id, double value, uint64_t time)
{
	struct iaprof_record_counter_value record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_COUNTER_VALUE, .time = time },
		.counter = id,
		.value = value,
	};
	return record_batch_append(batch, &record.header);
}

int record_batch_declare_counters(struct record_batch *batch, const struct record_counter *counters, size_t count,
				  uint64_t time)
{
	int result = 0;
	for (size_t i = 0; i < count && result == 0; i++)
		result = record_batch_declare_counter(batch, &counters[i], time);
	return result ? result : record_batch_flush(batch);
}

int record_batch_set_counters(struct record_batch *batch, const struct record_counter *counters, const uint64_t *values,
			      size_t count, uint64_t time)
{
	int result = 0;
	for (size_t i = 0; i < count && result == 0; i++)
		result = record_batch_set_counter(batch, counters[i].id, (double)values[i], time);
	return result ? result : record_batch_flush(batch);
}

int record_batch_add_finding(struct record_batch *batch, const struct record_finding *finding, uint64_t time)
{
	struct iaprof_record_finding record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_FINDING, .time = time },
		.severity = finding->severity,
		.name = record_batch_text(batch, finding->name),
		.text = record_batch_text(batch, finding->text),
		.pid = finding->pid,
		.value = finding->value,
		.threshold = finding->threshold,
	};
	return record_batch_append(batch, &record.header);
}

int record_batch_add_histogram(struct record_batch *batch, const struct record_histogram *histogram, uint64_t time)
{
	struct {
		struct iaprof_record_histogram head;
		uint64_t buckets[IAPROF_HISTOGRAM_BUCKET_COUNT_MAX];
	} record = {
		.head = { .header = { .size = (uint32_t)(sizeof record.head +
							 histogram->bucket_count * sizeof(uint64_t)),
				      .type = IAPROF_RECORD_HISTOGRAM,
				      .time = time },
			  .begin = histogram->begin,
			  .sum = histogram->sum,
			  .maximum = histogram->maximum,
			  .bucket_count = histogram->bucket_count,
			  .array_offset = IAPROF_ARRAY_OFFSET(struct iaprof_record_histogram) },
	};
	for (uint32_t i = 0; i < histogram->bucket_count; i++) {
		record.buckets[i] = histogram->buckets[i];
		saturating_increase(&record.head.count, histogram->buckets[i]);
	}
	if (!record.head.count)
		return 0;
	record.head.name = record_batch_text(batch, histogram->name);
	record.head.unit = record_batch_text(batch, histogram->unit);
	return record_batch_append(batch, &record.head.header);
}
