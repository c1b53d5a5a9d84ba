/* SPDX-License-Identifier: Apache-2.0 */
/* See segment_sums.h. */
#include "segment_sums.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "base/regular_file.h"
#include "capture/capture_format.h"
#include "segment_records.h"

void segment_names_free(struct segment_names *names)
{
	string_table_free(&names->names);
	array_free(&names->metrics);
}

static int read_records(struct segment_records *records, struct capture_reader *reader)
{
	struct iaprof_batch batch;
	int result = capture_reader_open(reader);
	while (!result && (result = capture_reader_next(reader, &batch)) == 1) {
		result = reader->totals.bytes > SEGMENT_BYTES_MAX ? -EFBIG : 0;
		for (const struct iaprof_record *record = NULL;
		     !result && (record = iaprof_batch_next(&batch, record));)
			result = segment_records_take(records, record);
	}
	return result;
}

int segment_sums_read(struct segment_sums *sums, struct segment_names *names, int folder, const char *name)
{
	struct segment_records records = { .sums = sums, .names = names };
	CLEANUP_CLOSE int file = regular_file_open(folder, name, O_NOFOLLOW);
	if (file < 0)
		return file;
	struct capture_reader reader = { .read = capture_read_file, .context = &file };
	int result = read_records(&records, &reader);
	capture_reader_close(&reader);
	segment_records_free(&records);
	return result;
}
