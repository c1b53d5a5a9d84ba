/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of GPU kernels, for the page's timeline (page/activity_rows.js) and its table of spans (page/spans.js), as a
 * member of the JSON of a page's header:
 *
 *   ,"launches":{ "kernels": [names], "dropped": launches beyond the limit, "spans": ["TRACE-SPAN"], omitted without,
 *     "items": [first time, last time (ns since the run began), number, pid, tid, position in kernels, and that in
 * spans if it has one] of each record }
 *
 * Omitted without launches.
 */
#pragma once

#include <stdbool.h>
#include <iaprof/profile.h>

#include "base/array.h"
#include "records/definitions.h"
#include "text/text.h"

/* Limit on the LAUNCH records of a page; the launches of further ones are counted. */
#define PAGE_LAUNCHES_MAX 65536u

struct page_launch {
	uint64_t first_time, time; /* CLOCK_MONOTONIC ns */
	uint64_t count;
	uint32_t kernel, pid, tid;
	uint16_t source;
	struct iaprof_span span; /* zeros: none, or not requested */
};

/* Initialise with {0} and use_spans. */
struct page_launches {
	ARRAY(struct page_launch) items;
	uint64_t dropped;
	bool use_spans;
	bool has_spans;
};

/* Stores a launch. Returns 0 or -ENOMEM. */
int page_launches_take(struct page_launches *launches, const struct iaprof_record_launch *record);
/* definitions: of kernels and their names. Sets text->failed if out of memory. */
void page_launches_append(struct text *text, const struct page_launches *launches,
			  const struct definitions *definitions, const struct iaprof_profile *profile);
void page_launches_free(struct page_launches *launches);
