/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_histograms.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>
#include "base/saturating.h"
#include "trace_histograms.h"

void trace_histograms_free(struct trace_histograms *histograms)
{
	free(histograms->items);
	*histograms = (struct trace_histograms){ 0 };
}

int trace_histograms_add(struct trace_histograms *histograms, const struct trace_form *form,
			 const struct trace_line *line)
{
	if (!histograms->items)
		histograms->items = calloc(TRACE_HISTOGRAMS_MAX, sizeof *histograms->items);
	if (!histograms->items)
		return -ENOMEM;
	struct trace_histogram *item = histograms->items, *end = item + histograms->count;
	while (item < end && strcmp(item->name, form->histogram) != 0)
		item++;
	if (item == end && histograms->count == TRACE_HISTOGRAMS_MAX) {
		histograms->dropped++;
		return 0;
	}
	if (item == end) {
		histograms->count++;
		memcpy(item->name, form->histogram, sizeof item->name);
		item->unit = form->histogram_unit;
	}
	if (item->print != form->histogram_prints)
		memset(item->buckets, 0, sizeof item->buckets);
	item->print = form->histogram_prints;
	/* The values 0 and 1 have a bucket each in bpftrace, and share the first one here. */
	saturating_increase(&item->buckets[line->bucket], line->count);
	return 0;
}

struct histogram_record {
	struct iaprof_record_histogram head;
	uint64_t buckets[64];
};

int trace_histograms_emit(const struct trace_histograms *histograms, struct record_batch *batch, uint64_t time)
{
	int result = 0;
	for (uint32_t i = 0; i < histograms->count && !result; i++) {
		const struct trace_histogram *item = &histograms->items[i];
		struct histogram_record record = {
			.head = { .header = { .size = sizeof record, .type = IAPROF_RECORD_HISTOGRAM, .time = time },
				  .begin = time,
				  .name = record_batch_text(batch, item->name),
				  .unit = record_batch_text(batch, *item->unit ? item->unit : "count"),
				  .bucket_count = 64 },
		};
		/* The text has no sum and no maximum: the sum is 0, the maximum the largest possible value. */
		for (uint32_t k = 0; k < 64; k++) {
			record.buckets[k] = item->buckets[k];
			record.head.count = saturating_add(record.head.count, item->buckets[k]);
			if (item->buckets[k])
				record.head.maximum = k == 63 ? UINT64_MAX : (UINT64_C(2) << k) - 1;
		}
		if (record.head.count)
			result = record_batch_append(batch, &record.head.header);
	}
	return result;
}
