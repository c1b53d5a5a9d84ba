/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of sources and jobs: see histograms.h. */
#include "profile/histograms.h"

#include "base/saturating.h"

/* Limit on histograms; a source has one for each measured function. */
#define HISTOGRAMS_MAX 1024

void histograms_free(struct histograms *histograms)
{
	array_free(&histograms->items);
}

/* name, unit: interned, or static. */
static struct histogram *find_or_add(struct histograms *histograms, uint16_t source, const char *name, const char *unit)
{
	struct histogram wanted = { .source = source, .name = name, .unit = unit };
	for (size_t i = 0; i < histograms->items.count; i++) {
		struct histogram *known = &histograms->items.items[i];
		/* Equal strings have the same address. */
		if (known->source == source && known->name == wanted.name && known->unit == wanted.unit)
			return known;
	}
	if (histograms->items.count >= HISTOGRAMS_MAX || !array_push(&histograms->items, wanted))
		return NULL;
	return &histograms->items.items[histograms->items.count - 1];
}

void histograms_take(struct histograms *histograms, const struct iaprof_record_histogram *record)
{
	struct histogram *histogram =
		find_or_add(histograms, record->header.source, intern_text(histograms->intern, record->name),
			    intern_text(histograms->intern, record->unit));
	const uint64_t *buckets = iaprof_record_histogram_buckets(record);
	if (!histogram) {
		histograms->dropped = saturating_add(histograms->dropped, record->count);
		return;
	}
	/* The count is that of the buckets; a damaged record may contradict itself. */
	for (uint32_t i = 0; i < record->bucket_count; i++) {
		histogram->buckets[i] = saturating_add(histogram->buckets[i], buckets[i]);
		histogram->count = saturating_add(histogram->count, buckets[i]);
	}
	histogram->sum = saturating_add(histogram->sum, record->sum);
	if (record->maximum > histogram->maximum)
		histogram->maximum = record->maximum;
}

static const char nanoseconds[] = "nanoseconds";
static const char queue_time[] = HISTOGRAM_JOB_QUEUE_TIME, run_time[] = HISTOGRAM_JOB_RUN_TIME,
		  latency[] = HISTOGRAM_JOB_LATENCY;

static void add_value(struct histograms *histograms, uint16_t source, const char *name, uint64_t value)
{
	/* Not interned: in a replay, string ids are those of the capture and must not be allocated. */
	struct histogram *histogram = find_or_add(histograms, source, name, nanoseconds);
	if (!histogram) {
		histograms->dropped = saturating_add(histograms->dropped, 1);
		return;
	}
	histogram->buckets[value ? 63 - __builtin_clzll(value) : 0]++;
	histogram->count++;
	histogram->sum = saturating_add(histogram->sum, value);
	if (value > histogram->maximum)
		histogram->maximum = value;
}

void histograms_take_job(struct histograms *histograms, const struct iaprof_record_job *record)
{
	uint64_t begin = record->started, submitted = record->submitted, end = record->header.time;
	if (iaprof_record_job_copy(record)) /* of which one takes as long as its bytes */
		return;
	if (record->state == IAPROF_JOB_IN_FLIGHT) {
		histograms->jobs_in_flight++;
		return;
	}
	if (submitted && begin >= submitted)
		add_value(histograms, record->header.source, queue_time, begin - submitted);
	if (record->state == IAPROF_JOB_ABORTED) {
		histograms->jobs_aborted++;
		return;
	}
	histograms->jobs_done++;
	if (begin && end >= begin)
		add_value(histograms, record->header.source, run_time, end - begin);
	else if (!begin && submitted && end >= submitted)
		add_value(histograms, record->header.source, latency, end - submitted);
}
