/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How values are distributed: histograms of sources added up by name, and those of jobs, as the summary of a run on the
 * terminal has them.
 */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_VALUE_HISTOGRAMS_H
#define IAPROF_PLUGINS_FLAMEGRAPH_VALUE_HISTOGRAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

struct value_histogram {
	uint16_t source;
	uint32_t name, unit; /* string ids; 0: of jobs, ns */
	uint64_t count, sum, maximum;
	uint64_t buckets[IAPROF_HISTOGRAM_BUCKET_COUNT_MAX]; /* as in struct iaprof_record_histogram */
	const char *label;                                   /* of jobs, whose records have no name; else NULL */
};

/* Initialise with {0}. */
struct value_histograms {
	struct value_histogram *items;
	uint32_t count, capacity;
	uint64_t dropped; /* values of names that were too many */
	uint64_t jobs_done, jobs_aborted, jobs_in_flight;
};

/* False: out of memory. */
bool value_histograms_take(struct value_histograms *histograms, const struct iaprof_record_histogram *record);
bool value_histograms_take_job(struct value_histograms *histograms, const struct iaprof_record_job *record);

/*
 * The value that a part of all values (0.5: the median) is not above. Within a bucket values are taken to be spread
 * evenly.
 */
uint64_t value_histogram_quantile(const struct value_histogram *histogram, double part);

void value_histograms_free(struct value_histograms *histograms);

#endif
