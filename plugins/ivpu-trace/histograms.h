/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the histograms that hist() of bpftrace printed, and emits them. Bounded; one thread. */
#pragma once

#include "line.h"
#include "records/record_batch.h"

/* Lines of more histograms are refused. */
#define TRACE_HISTOGRAMS_MAX 64u

/* Initialise with {0}. */
struct trace_histograms {
	struct trace_histogram {
		char name[TRACE_NAME_SIZE_MAX + 1];
		const char *unit; /* static, "" if unknown */
		uint64_t buckets[64];
	} items[TRACE_HISTOGRAMS_MAX];
	uint32_t count;
	/* The title of the buckets that follow. Its unit is from its name or the line before it. */
	char title[TRACE_NAME_SIZE_MAX + 1];
	const char *unit, *unit_before;
	struct trace_histogram *current; /* NULL: before the first bucket */
};

/* text: trimmed. Returns false if the line is neither "@usecs[ivpu_open]:" nor a heading with the unit of such titles.
 */
bool trace_histograms_parse_title(struct trace_histograms *histograms, struct text_span text);
/*
 * Parses "[4, 8)    12 |@@@     |" or "[1]  7 |@@@|", and adds it to the histogram of the last title: one that is
 * printed again is replaced. Returns false if the line is not a bucket. Buckets of lhist() do not begin at powers of
 * two: they are refused.
 */
bool trace_histograms_parse_bucket(struct trace_histograms *histograms, struct text_span text, struct trace_line *line);
/* Appends all histograms. Returns 0 or a negative errno. */
int trace_histograms_emit(const struct trace_histograms *histograms, struct record_batch *batch, uint64_t time);
