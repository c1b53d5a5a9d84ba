/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Amounts of many small things as rates over time: each amount is spread evenly over the time that it is of, in steps
 * of the same length, so that the sum of rate times step is the sum of the amounts.
 */
#ifndef IAPROF_PLUGINS_PERFETTO_RATES_H
#define IAPROF_PLUGINS_PERFETTO_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracks.h"

/* The most steps of a rate that are not written yet: where an amount is of a longer time, its steps are longer. */
#define RATE_STEP_COUNT_MAX 1024u
/* The most rates at once. */
#define RATES_COUNT_MAX 4096u

struct rate {
	struct rate *next;  /* in its bucket */
	struct rate *later; /* the one that was added after it */
	struct track_key key;
	double scale;    /* what a rate of one a nanosecond is shown as */
	double *amounts; /* of the steps that are not written yet */
	size_t count, capacity;
	uint64_t first;   /* the number of the first of them: its time is this times the step */
	uint32_t shift;   /* the step is the usual one times 2 to this */
	uint64_t written; /* the time up to which it is written */
	double shown;     /* the last value that was written */
};

/* Initialise with { .step = nanoseconds, .context = ..., .write = ... }. */
struct rates {
	uint64_t step;
	void *context;
	/* The rate has this value from this time on. */
	void (*write)(void *context, const struct rate *rate, uint64_t time, double value);
	struct rate *buckets[1024];
	struct rate *first, **end; /* in order of arrival, in which they are written */
	size_t count;
	uint64_t flushed; /* the last time that rates_flush() was given */
	uint64_t moved;   /* amounts of which a part came after its time was written, and is in a later step */
};

/* The rate of this track, which is there as long as anything of it waits; NULL: out of memory, or too many. */
struct rate *rates_find(struct rates *rates, const struct track_key *key, double scale);
/* Adds an amount of the time from begin to end. False when out of memory. */
bool rate_add(struct rates *rates, struct rate *rate, uint64_t begin, uint64_t end, uint64_t amount);
/* Writes the steps that end before a time. */
void rates_flush(struct rates *rates, uint64_t before);
/* Writes everything, and that nothing comes after it. */
void rates_finish(struct rates *rates);
void rates_free(struct rates *rates);

#endif
