/* SPDX-License-Identifier: Apache-2.0 */
/* What a sink does now, and which of its profiles have arrived: written by its threads, read by the loop of the run. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>

/* With more profiles on their way, every second one is no longer told apart from the next. */
#define DELIVERY_MARKS_MAX 64u

/*
 * Profiles that were passed to a sink, by the number of its items when profile() had returned: a profile has arrived
 * when the sink is done with so many.
 */
struct delivery_marks {
	struct {
		uint64_t items, end;
	} marks[DELIVERY_MARKS_MAX];
	size_t count;
	uint64_t delivered; /* items, when a profile was last found to have arrived */
	uint64_t newest;    /* end of the newest profile that has arrived, CLOCK_MONOTONIC ns; 0: none */
};

/* Adds a profile, which ends at this time. delivery: what the sink reports; size 0: it reports nothing. */
void delivery_marks_add(struct delivery_marks *marks, const struct iaprof_delivery *delivery, uint64_t end);
/* Takes note of what the sink reports. */
void delivery_marks_advance(struct delivery_marks *marks, const struct iaprof_delivery *delivery);

struct sink_activity {
	atomic_uint_least64_t queued;          /* bytes of records and profiles that wait in its queue */
	atomic_uint_least64_t busy;            /* ns in callbacks that have returned */
	atomic_uint_least64_t called_at;       /* CLOCK_MONOTONIC ns: begin of the running callback; 0: none */
	_Atomic(const char *) callback;        /* its name */
	atomic_uint_least64_t dropped_records; /* that its queue had no room for */
};

/* Used by the loop only: what was sent and reported so far. */
struct sink_liveness {
	uint64_t profile_end, busy, queued;
	uint64_t blocked_at; /* begin of the callback that was reported; 0: none */
	uint64_t dropped_records, dropped_profiles, dropped_at;
	int has_sent, is_late;
};
