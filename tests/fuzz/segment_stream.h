/* SPDX-License-Identifier: Apache-2.0 */
/* An input as the records of a ring's segment. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>

/* Returns other than 0 to end the segment. */
typedef int segment_stream_take(void *context, const struct iaprof_record *record);

/* As capture_reader_next() promises them: whole records, aligned. Sizes that are not are made right. */
static inline void segment_stream_read(const uint8_t *data, size_t size, segment_stream_take *take, void *context)
{
	while (size >= sizeof(struct iaprof_record)) {
		struct iaprof_record header;
		memcpy(&header, data, sizeof header);
		size_t whole = header.size & ~7u;
		if (whole < sizeof header || whole > IAPROF_RECORD_SIZE_MAX || whole > size)
			break;
		struct iaprof_record *record = malloc(whole); /* of just its size, for AddressSanitizer */
		if (!record)
			abort();
		memcpy(record, data, whole);
		record->size = (uint32_t)whole;
		int result = take(context, record);
		free(record);
		if (result)
			break;
		data += whole;
		size -= whole;
	}
}
