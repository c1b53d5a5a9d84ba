/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts many small amounts to rates over time: each amount is spread evenly over its time range, in steps of equal
 * length, so that the sum of rate times step equals the sum of the amounts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracks.h"

/* Maximum number of unwritten steps of a rate; if an amount covers more time, the steps become longer. */
#define RATE_STEP_COUNT_MAX 1024u
/* Limit on simultaneous rates. */
#define RATES_COUNT_MAX 4096u

struct rate {
	struct rate *next;  /* in the same bucket */
	struct rate *later; /* the next rate in order of creation */
	struct track_key key;
	double scale;    /* displayed value of a rate of one per nanosecond */
	double *amounts; /* amounts of the unwritten steps */
	size_t count, capacity;
	uint64_t first;   /* number of the first of these steps, whose time is this number times the step */
	uint32_t shift;   /* the step is the usual one times 2^shift */
	uint64_t written; /* time up to which it was written */
	double shown;     /* last value written */
};

/* Initialise with { .step = nanoseconds, .context = ..., .write = ... }. */
struct rates {
	uint64_t step;
	void *context;
	/* Sets the value of a rate from a given time on. */
	void (*write)(void *context, const struct rate *rate, uint64_t time, double value);
	struct rate *buckets[1024];
	struct rate *first, **end; /* in order of creation, which is also the order in which they are written */
	size_t count;
	uint64_t flushed; /* argument of the last rates_flush() */
	uint64_t moved;   /* amounts that arrived too late in part: that part was added to a later step */
};

/*
 * Returns the rate of a track, which is valid as long as it has unwritten amounts; NULL: out of memory, or too many
 * rates.
 */
struct rate *rates_find(struct rates *rates, const struct track_key *key, double scale);
/* Adds an amount spread from begin to end. Returns false when out of memory. */
bool rate_add(struct rates *rates, struct rate *rate, uint64_t begin, uint64_t end, uint64_t amount);
/* Writes steps that end before a time. */
void rates_flush(struct rates *rates, uint64_t before);
/* Writes everything and a final 0. */
void rates_finish(struct rates *rates);
void rates_free(struct rates *rates);
