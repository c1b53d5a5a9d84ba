/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the events of each track into an order that Perfetto can read. A slice is reported when it ends, so a call
 * arrives after the calls nested in it, but the slices of a track must begin in order, and each must end before the
 * slice that encloses it. Events therefore wait for a bounded time, which they also need for their names, and a slice
 * that would partially overlap another one moves to a separate lane.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "tracks.h"

/* Limit on waiting events; beyond it, the oldest are written without symbols. */
#define TIMELINES_WAITING_COUNT_MAX 131072u
/* Limit on lanes; more would be unreadable. */
#define TIMELINE_LANE_COUNT_MAX 64u
/* Beyond this limit, idle tracks are removed and described again when needed. */
#define TIMELINES_COUNT_MAX 16384u
/* Limit on active tracks; events of further tracks are dropped. */
#define TIMELINES_BUSY_COUNT_MAX (TIMELINES_WAITING_COUNT_MAX + TIMELINES_COUNT_MAX)

/* An event on a track. */
struct timeline_event {
	uint64_t begin, end; /* begin == end: an instant */
	uint64_t order;      /* order of arrival; set by timelines_add() */
	uint32_t depth;      /* nesting depth; if not 0, the event waits for its enclosing slice */
	uint32_t part;       /* for the writer: the part of the record that this is */
	struct iaprof_record *record;
};

/* A stack of nested slices. */
struct timeline_lane {
	uint64_t ends[IAPROF_CALL_DEPTH_MAX]; /* ends of the open slices, the outermost first */
	uint32_t depths[IAPROF_CALL_DEPTH_MAX];
	uint64_t tracks[IAPROF_CALL_DEPTH_MAX]; /* what begin() returned for them */
	uint32_t count;
	uint64_t begin; /* start of the last slice, or a later time: an earlier event does not fit */
};

struct timeline {
	struct timeline *next;  /* in the same bucket */
	struct timeline *later; /* the next timeline in order of creation */
	struct track_key key;
	bool nests;                    /* slices may be nested */
	struct timeline_event *events; /* waiting events: a heap, the next one first */
	size_t event_count, event_capacity;
	struct timeline_lane *lanes;
	uint32_t lane_count;
};

/*
 * Callbacks that write the events, called in chronological order for each lane. lane: 0 for the first one. The result
 * of begin() is passed to end().
 */
struct timeline_writer {
	void *context;
	uint64_t (*begin)(void *context, const struct timeline *timeline, uint32_t lane,
			  const struct timeline_event *event);
	void (*end)(void *context, uint64_t track, uint64_t time);
};

/* Initialise with { .writer = ... }. */
struct timelines {
	struct timeline_writer writer;
	struct timeline *buckets[4096];
	struct timeline *first, **end; /* in order of creation, which is also the order in which they are written */
	size_t count, waiting;
	uint64_t order;
	uint64_t forgotten; /* removed tracks had events up to this time */
	uint64_t not_drawn; /* slices without a free lane */
	uint64_t refused;   /* events without a free track */
};

/*
 * Adds an event to a track; the record is copied. The first value of nests for a track applies. Returns true even if
 * the event was refused, and false when out of memory.
 */
bool timelines_add(struct timelines *timelines, const struct track_key *key, bool nests,
		   const struct timeline_event *event);
/* Writes events that began before a time; events that wait for an enclosing slice, before an earlier time. */
void timelines_flush(struct timelines *timelines, uint64_t before, uint64_t before_nested);
/* Writes everything. */
void timelines_finish(struct timelines *timelines);
void timelines_free(struct timelines *timelines);
