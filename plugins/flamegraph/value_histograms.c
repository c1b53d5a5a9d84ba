/* SPDX-License-Identifier: Apache-2.0 */
/* See value_histograms.h. */
#include "value_histograms.h"

#include <stdlib.h>

/* As many as the summary has. */
#define HISTOGRAMS_MAX 1024u

static uint64_t saturating_sum(uint64_t one, uint64_t other)
{
	return one + other < one ? UINT64_MAX : one + other;
}

/* *found: NULL when there are too many. False: out of memory. */
static bool find_or_add(struct value_histograms *histograms, const struct value_histogram *wanted,
			struct value_histogram **found)
{
	*found = NULL;
	for (uint32_t i = 0; i < histograms->count; i++) {
		struct value_histogram *known = &histograms->items[i];
		if (known->source != wanted->source || known->name != wanted->name || known->unit != wanted->unit ||
		    known->label != wanted->label)
			continue;
		*found = known;
		return true;
	}
	if (histograms->count >= HISTOGRAMS_MAX)
		return true;
	if (histograms->count == histograms->capacity) {
		uint32_t capacity = histograms->capacity ? 2 * histograms->capacity : 16;
		struct value_histogram *items = realloc(histograms->items, capacity * sizeof *items);
		if (!items)
			return false;
		histograms->items = items;
		histograms->capacity = capacity;
	}
	*found = &histograms->items[histograms->count++];
	**found = *wanted;
	return true;
}

bool value_histograms_take(struct value_histograms *histograms, const struct iaprof_record_histogram *record)
{
	const uint64_t *buckets = iaprof_record_histogram_buckets(record);
	const struct value_histogram wanted = { .source = record->header.source,
						.name = record->name,
						.unit = record->unit };
	struct value_histogram *histogram;
	if (!find_or_add(histograms, &wanted, &histogram))
		return false;
	if (!histogram) {
		histograms->dropped = saturating_sum(histograms->dropped, record->count);
		return true;
	}
	/* The buckets count: what the sum of a damaged record says is not believed. */
	for (uint32_t i = 0; i < record->bucket_count; i++) {
		histogram->buckets[i] = saturating_sum(histogram->buckets[i], buckets[i]);
		histogram->count = saturating_sum(histogram->count, buckets[i]);
	}
	histogram->sum = saturating_sum(histogram->sum, record->sum);
	if (record->maximum > histogram->maximum)
		histogram->maximum = record->maximum;
	return true;
}

static bool add(struct value_histograms *histograms, uint16_t source, const char *label, uint64_t value)
{
	const struct value_histogram wanted = { .source = source, .label = label };
	struct value_histogram *histogram;
	if (!find_or_add(histograms, &wanted, &histogram))
		return false;
	if (!histogram) {
		histograms->dropped = saturating_sum(histograms->dropped, 1);
		return true;
	}
	histogram->buckets[value ? 63 - __builtin_clzll(value) : 0]++;
	histogram->count++;
	histogram->sum = saturating_sum(histogram->sum, value);
	if (value > histogram->maximum)
		histogram->maximum = value;
	return true;
}

bool value_histograms_take_job(struct value_histograms *histograms, const struct iaprof_record_job *record)
{
	/* The same texts as in the summary of a run: one address each tells them apart. */
	static const char queue_time[] = "jobs: queue time", run_time[] = "jobs: run time";
	uint64_t begin = record->started ? record->started : record->queued;
	bool good = true;
	if (record->state == IAPROF_JOB_IN_FLIGHT) {
		histograms->jobs_in_flight++;
		return true;
	}
	if (record->submitted && begin >= record->submitted)
		good = add(histograms, record->header.source, queue_time, begin - record->submitted);
	if (record->state == IAPROF_JOB_ABORTED) {
		histograms->jobs_aborted++;
		return good;
	}
	histograms->jobs_done++;
	if (begin && record->header.time >= begin)
		good &= add(histograms, record->header.source, run_time, record->header.time - begin);
	return good;
}

uint64_t value_histogram_quantile(const struct value_histogram *histogram, double part)
{
	return iaprof_histogram_quantile(histogram->buckets, histogram->count, histogram->maximum, part);
}

void value_histograms_free(struct value_histograms *histograms)
{
	free(histograms->items);
	*histograms = (struct value_histograms){ 0 };
}
