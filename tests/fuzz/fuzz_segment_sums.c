/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: records of a ring's segments as iaprof-web adds them up. Each input is taken as two segments, which
 * share names; sums are of names and metrics that are known, and bounded.
 */
#include <stdint.h>
#include <stdlib.h>

#include "segment_records.h"
#include "segment_stream.h"

static int take(void *context, const struct iaprof_record *record)
{
	return segment_records_take(context, record);
}

static void check(const struct segment_sums *sums, const struct segment_names *names)
{
	/* Beyond the limit, one more for each metric and group. */
	if (sums->count > SEGMENT_SUMS_MAX + SEGMENT_METRICS_MAX * SEGMENT_GROUP_COUNT ||
	    names->metrics.count > SEGMENT_METRICS_MAX)
		abort();
	for (size_t i = 0; i < sums->count; i++)
		if (sums->items[i].name > names->names.entries.count || sums->items[i].metric >= names->metrics.count ||
		    sums->items[i].group >= SEGMENT_GROUP_COUNT ||
		    !sums->items[i].name != (sums->items[i].group == SEGMENT_TOTAL) || !(sums->items[i].value >= 0))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct segment_names names = { 0 };
	for (int i = 0; i < 2; i++) {
		struct segment_sums sums = { 0 };
		struct segment_records records = { .sums = &sums, .names = &names };
		segment_stream_read(data, size, take, &records);
		check(&sums, &names);
		segment_records_free(&records);
		array_free(&sums);
	}
	segment_names_free(&names);
	return 0;
}
