/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms of sources, summed by name, and histograms of job queue and run times, computed from JOB records. Strings
 * are interned and valid for the whole run. Owned by the collector thread.
 */
#pragma once

#include <iaprof/record.h>

#include "base/array.h"
#include "bus/intern.h"

struct histogram {
	uint16_t source;
	const char *name, *unit;
	uint64_t count, sum, maximum;
	uint64_t buckets[IAPROF_HISTOGRAM_BUCKET_COUNT_MAX]; /* as in struct iaprof_record_histogram */
};

/* Initialise with {0} and intern. */
struct histograms {
	struct intern *intern;
	ARRAY(struct histogram) items; /* in order of arrival */
	uint64_t dropped;              /* values of histograms beyond the limit */
	uint64_t jobs_done, jobs_aborted, jobs_in_flight;
};

#define HISTOGRAM_JOB_QUEUE_TIME "jobs: queue time"
#define HISTOGRAM_JOB_RUN_TIME "jobs: run time"
/* Of jobs whose start is not known. */
#define HISTOGRAM_JOB_LATENCY "jobs: submission to completion"

void histograms_free(struct histograms *histograms);
void histograms_take(struct histograms *histograms, const struct iaprof_record_histogram *record);
void histograms_take_job(struct histograms *histograms, const struct iaprof_record_job *record);
