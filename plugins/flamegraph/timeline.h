/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened when, in memory that has a bound: tracks of moments (jobs, calls). Each moment is kept up to a number
 * of all; then the track with the most is merged into slots of time, which get twice as wide as often as the time that
 * they cover asks for. Sums are of everything, whatever was merged.
 */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_TIMELINE_H
#define IAPROF_PLUGINS_FLAMEGRAPH_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/item_index.h"

/* Moments of all tracks that are kept one by one. */
#define TIMELINE_MOMENTS_MAX 32768u
/* Slots of a merged track. */
#define TIMELINE_SLOT_COUNT 2048u
/* Tracks; what comes later is in one of its kind that has no name. */
#define TIMELINE_TRACKS_MAX 256u
/* The narrowest slot, ns. */
#define TIMELINE_SLOT_WIDTH 1000u

enum track_kind {
	TRACK_JOBS = 1,    /* of an engine of a device */
	TRACK_BOOTS = 2,   /* calls that wake a device, or let it sleep */
	TRACK_API = 3,     /* calls of a library */
	TRACK_REQUEST = 4, /* requests to a driver */
	TRACK_FAMILY = 5,  /* calls of a driver's functions that belong together */
	TRACK_CONTEXT = 6  /* calls of why or where they are made: "[interrupt]" */
};

/* What moments of a track have in common; all but the kind is 0 for those that were too many. */
struct track_key {
	uint32_t kind; /* enum track_kind */
	uint32_t source;
	uint32_t device;  /* id; 0 none, or not known */
	uint32_t name;    /* string id: engine, function, family, context */
	uint32_t process; /* position of a process, TRACK_NO_PROCESS none */
};
#define TRACK_NO_PROCESS UINT32_MAX

/* A job, a call, or several calls that nobody told apart. Members that a kind does not have are 0. */
struct moment {
	uint64_t begin, end; /* ns; end >= begin */
	uint64_t count;      /* >= 1 */
	uint64_t busy;       /* ns, of all of it */
	uint64_t waiting;    /* jobs: ns from begin until they ran, at most up to end */
	uint64_t duration;   /* calls: with those nested in them */
	uint64_t queued;     /* jobs: when the device had it, 0 not known */
	uint64_t started;    /* jobs: when it ran, 0 not known */
	int64_t result;      /* calls: the last one's */
	uint32_t id, context, status;
	uint32_t state; /* jobs: enum iaprof_job_state */
	uint32_t tid;
	uint32_t function; /* calls: position */
};

struct slot {
	uint64_t count, busy, waiting, aborted;
};

struct track {
	struct track_key key;
	uint64_t count, busy, waiting; /* of everything */
	uint64_t aborted, in_flight;   /* jobs */
	struct moment *moments;        /* in the order in which they came */
	uint32_t moment_count, moment_capacity;
	struct slot *slots; /* TIMELINE_SLOT_COUNT, once it is merged; else NULL */
};

/* Initialise with {0}. */
struct timeline {
	uint32_t moments_max; /* 0: TIMELINE_MOMENTS_MAX */
	struct track *tracks;
	uint32_t track_count;
	struct item_index index;
	uint32_t moment_count;
	uint64_t begin, end; /* of everything; begin > end: there is nothing */
	bool has_time;
	bool has_slots;
	uint32_t slot_shift;            /* a slot is TIMELINE_SLOT_WIDTH << slot_shift wide */
	uint64_t first_slot, last_slot; /* numbers of slots since time 0: the first one of the arrays, the last used */
	uint64_t unplaced;              /* moments whose track was one too many */
};

/* Takes a moment. False: out of memory. */
bool timeline_add(struct timeline *timeline, const struct track_key *key, const struct moment *moment);

static inline uint64_t timeline_slot_width(const struct timeline *timeline)
{
	return (uint64_t)TIMELINE_SLOT_WIDTH << timeline->slot_shift;
}

void timeline_free(struct timeline *timeline);

#endif
