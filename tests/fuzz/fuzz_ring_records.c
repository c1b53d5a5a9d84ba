/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: records of a ring's segments. Each input is taken as two segments, since what the first one leaves is
 * what the second one's ids must not be mistaken for; whatever is sent has to be well-formed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/string_table.h"
#include "bus/record_check.h"
#include "ring_records.h"
#include "segment_stream.h"

static uint32_t intern_string(const struct iaprof_host *host, const char *text, size_t length)
{
	return string_table_add(host->core, text, strnlen(text, length), NULL);
}

static int emit(const struct iaprof_host *host, const struct iaprof_batch *batch)
{
	struct error error = { 0 };
	if (record_check_batch(batch, true, &error))
		abort();
	return 0;
}

static int fail(const struct iaprof_host *host, int error, const char *format, ...)
{
	return -error;
}

struct target {
	struct ring_records *ring;
	const struct iaprof_host *host;
};

static int take(void *context, const struct iaprof_record *record)
{
	const struct target *target = context;
	return ring_records_take(target->ring, target->host, record);
}

static void take_segment(struct ring_records *ring, const struct iaprof_host *host, const uint8_t *data, size_t size)
{
	segment_stream_read(data, size, take, &(struct target){ ring, host });
	ring_records_end_segment(ring);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct string_table strings = { 0 };
	struct iaprof_host host = {
		.size = sizeof host, .core = &strings, .intern_string = intern_string, .emit = emit, .fail = fail
	};
	struct ring_records ring = { 0 };
	if (record_batch_init(&ring.batch, &host))
		abort();
	take_segment(&ring, &host, data, size);
	take_segment(&ring, &host, data, size);
	record_batch_flush(&ring.batch);
	ring_records_free(&ring);
	string_table_free(&strings);
	return 0;
}
