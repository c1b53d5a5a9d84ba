/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress of the sources that announce code and launches, for which device samples wait: the time of their newest
 * PROGRESS record, or, if they send none, of their newest counter value. Owned by the collector thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "base/array.h"

/* Limit on sources that are waited for. */
#define PROGRESS_SOURCES_MAX 64

struct code_source {
	uint16_t number;
	bool advances;           /* it sends PROGRESS records */
	uint64_t complete_until; /* its records up to this time are complete */
};

/* Initialise with {0}. */
struct source_progress {
	ARRAY(struct code_source) sources;
};

void source_progress_free(struct source_progress *progress);
/*
 * Notes a record of a source: a PROGRESS record, a counter value, or another, which shows that it announces code or
 * launches.
 */
void source_progress_take(struct source_progress *progress, const struct iaprof_record *record);
/* Returns whether the records of all sources are complete up to a time. */
bool source_progress_reached(const struct source_progress *progress, uint64_t time);
