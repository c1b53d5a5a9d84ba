/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the histograms that bpftrace printed, and emits them. Bounded; one thread. */
#pragma once

#include "records/record_batch.h"
#include "trace_form.h"

#define TRACE_HISTOGRAMS_MAX 64u

/* Initialise with {0}. */
struct trace_histograms {
	struct trace_histogram {
		char name[TRACE_NAME_SIZE_MAX + 1];
		const char *unit; /* borrowed, static */
		uint64_t print;   /* form->histogram_prints of its buckets */
		uint64_t buckets[64];
	} * items; /* TRACE_HISTOGRAMS_MAX, NULL if none */
	uint32_t count;
	uint64_t dropped; /* buckets of more histograms */
};

void trace_histograms_free(struct trace_histograms *histograms);
/*
 * Adds a line of kind BUCKET: a histogram that is printed again replaces its buckets. Returns 0 or -ENOMEM.
 */
int trace_histograms_add(struct trace_histograms *histograms, const struct trace_form *form,
			 const struct trace_line *line);
/* Appends all histograms. Returns 0 or a negative errno. */
int trace_histograms_emit(const struct trace_histograms *histograms, struct record_batch *batch, uint64_t time);
