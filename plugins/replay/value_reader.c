/* SPDX-License-Identifier: Apache-2.0 */
/* Reads values of a capture ahead of its other records: see value_reader.h. */
#include "value_reader.h"

#include <errno.h>
#include <unistd.h>

static ssize_t read_at(void *context, void *data, size_t size)
{
	struct value_reader *values = context;
	size_t done = 0;
	while (done < size) {
		if (__atomic_load_n(values->stopping, __ATOMIC_ACQUIRE))
			return -ECANCELED;
		ssize_t got = pread(values->descriptor, (char *)data + done, size - done, (off_t)values->offset);
		if (got == 0)
			break;
		if (got < 0 && errno != EINTR)
			return -errno;
		done += got > 0 ? (size_t)got : 0;
		values->offset += got > 0 ? (uint64_t)got : 0;
	}
	return (ssize_t)done;
}

int value_reader_open(struct value_reader *values, int descriptor, const volatile int *stopping)
{
	*values = (struct value_reader){ .descriptor = descriptor, .stopping = stopping };
	values->reader = (struct capture_reader){ .read = read_at, .context = values };
	return capture_reader_open(&values->reader);
}

/* Advances to the next record: 1, 0 after the last one, or a negative errno. */
static int advance(struct value_reader *values)
{
	const struct iaprof_record *next = values->record ? iaprof_batch_next(&values->batch, values->record) : NULL;
	int result = 1;
	while (!next && (result = capture_reader_next(&values->reader, &values->batch)) > 0)
		next = iaprof_batch_next(&values->batch, NULL);
	values->record = next;
	values->ended = !next;
	return result;
}

int value_reader_next(struct value_reader *values, uint64_t until, const struct iaprof_record **found)
{
	int result = 1;
	*found = NULL;
	/* A record that was too late in the last call is examined again. */
	if (values->ended)
		return 0;
	if (!values->record || values->is_given)
		result = advance(values);
	while (result > 0 && values->record->type != IAPROF_RECORD_PROFILE_VALUE)
		result = advance(values);
	values->is_given = result > 0 && values->record->time <= until;
	if (values->is_given)
		*found = values->record;
	return result < 0 ? result : values->is_given;
}

void value_reader_close(struct value_reader *values)
{
	capture_reader_close(&values->reader);
}
