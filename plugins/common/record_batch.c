/* SPDX-License-Identifier: Apache-2.0 */
/* See record_batch.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "record_batch.h"

/* A batch is handed over when this many bytes are full: 900 samples, more than most drains have. */
#define BATCH_SIZE (64u * 1024)

int record_batch_init(struct record_batch *batch, const struct iaprof_host *host)
{
	batch->host = host;
	batch->records = malloc(BATCH_SIZE);
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
	int result = full.count ? batch->host->emit(batch->host, &full) : 0;
	return result == -ENOSPC ? 0 : result;
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

int record_batch_declare_counter(struct record_batch *batch, uint32_t id, const char *name, const char *unit,
				 uint64_t time)
{
	const struct iaprof_host *host = batch->host;
	struct iaprof_record_counter counter = {
		.header = { .size = sizeof counter, .type = IAPROF_RECORD_COUNTER, .time = time },
		.id = id,
		.name = host->intern_string(host, name, strlen(name)),
		.unit = host->intern_string(host, unit, strlen(unit)),
		.kind = IAPROF_COUNTER_CUMULATIVE,
	};
	return record_batch_append(batch, &counter.header);
}

int record_batch_set_counter(struct record_batch *batch, uint32_t id, uint64_t value, uint64_t time)
{
	struct iaprof_record_counter_value record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_COUNTER_VALUE, .time = time },
		.counter = id,
		.value = (double)value,
	};
	return record_batch_append(batch, &record.header);
}
