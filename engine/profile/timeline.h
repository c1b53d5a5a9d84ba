/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A timeline in bounded memory: tracks of events (jobs, calls). Up to a limit, events are stored individually; beyond
 * it, the largest track is merged into time slots, whose width is doubled as often as their time range requires. Sums
 * cover all events, merged or not. Owned by the collector thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/activity.h>

#include "base/keyed_array.h"

/* Maximum number of events stored individually, in all tracks. */
#define TIMELINE_EVENTS_MAX 32768u
/* Number of slots of a merged track. */
#define TIMELINE_SLOT_COUNT 2048u
/* Maximum number of tracks; later ones share one unnamed track of their kind. */
#define TIMELINE_TRACKS_MAX 256u
/* Minimum width of a slot, in ns. */
#define TIMELINE_SLOT_WIDTH 1000u

/* Identifies a track; for the remainder of a kind, all members except kind are 0. No padding: compared as bytes. */
struct track_key {
	uint32_t kind; /* enum iaprof_track_kind */
	uint32_t source;
	uint32_t device;  /* id; 0 if none, or not known */
	uint32_t name;    /* string id: engine, function, family, context */
	uint32_t process; /* index of a process, TRACK_NO_PROCESS if none */
};
#define TRACK_NO_PROCESS IAPROF_ACTIVITY_NONE

struct slot {
	uint64_t count, busy, waiting, aborted;
};

/* An event as in struct iaprof_track. */
struct timeline_event {
	struct iaprof_event event;
	uint32_t thread_name; /* string id; 0 if not known */
};

struct track {
	struct track_key key;
	uint64_t count, busy, waiting;       /* totals of all events */
	uint64_t aborted, in_flight;         /* jobs */
	ARRAY(struct timeline_event) events; /* in order of arrival; empty once merged */
	struct slot *slots;                  /* TIMELINE_SLOT_COUNT slots once merged; otherwise NULL */
};

/* Initialise with {0}. */
struct timeline {
	size_t events_max; /* 0: TIMELINE_EVENTS_MAX */
	KEYED_ARRAY(struct track) tracks;
	size_t event_count;
	uint64_t begin, end; /* time range of all events, if has_time */
	bool has_time;
	bool has_slots;
	uint32_t slot_shift;            /* the slot width is TIMELINE_SLOT_WIDTH << slot_shift */
	uint64_t first_slot, last_slot; /* slot numbers since time 0: the first in the arrays, the last used */
	uint64_t unplaced;              /* events of tracks beyond the limit */
};

/* Adds an event. Returns false when out of memory. */
bool timeline_add(struct timeline *timeline, const struct track_key *key, const struct timeline_event *added);

static inline uint64_t timeline_slot_width(const struct timeline *timeline)
{
	return (uint64_t)TIMELINE_SLOT_WIDTH << timeline->slot_shift;
}

void timeline_free(struct timeline *timeline);
