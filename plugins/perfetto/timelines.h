/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened on each track, put into an order that Perfetto can read. A slice is told when it ends, so a call comes
 * after those nested in it; on one track slices have to begin in their order and each to end before the one around it.
 * Events wait for a bounded time, which their names need as well, and a slice that would cut another in two goes to a
 * lane of its own beside it.
 */
#ifndef IAPROF_PLUGINS_PERFETTO_TIMELINES_H
#define IAPROF_PLUGINS_PERFETTO_TIMELINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "tracks.h"

/* More events than this do not wait: the oldest go without names that are not known yet. */
#define TIMELINES_WAITING_COUNT_MAX 131072u
/* More lanes than this beside each other nobody can read. */
#define TIMELINE_LANE_COUNT_MAX 64u
/* Tracks that nothing waits for are forgotten when there are more: they are told again when they are needed. */
#define TIMELINES_COUNT_MAX 16384u
/* At once, with those that something waits for or that are not over: events of more tracks are refused. */
#define TIMELINES_BUSY_COUNT_MAX (TIMELINES_WAITING_COUNT_MAX + TIMELINES_COUNT_MAX)

/* An event on a track. */
struct timeline_event {
	uint64_t begin, end; /* begin == end: an instant */
	uint64_t order;      /* of arrival; set by timelines_add() */
	uint32_t depth;      /* nesting; waits for the one around it when it is not 0 */
	uint32_t part;       /* the user's: what of the record this is */
	struct iaprof_record *record;
};

/* Slices that nest, one inside the other. */
struct timeline_lane {
	uint64_t ends[IAPROF_CALL_DEPTH_MAX]; /* of those that are open, the outermost first */
	uint32_t depths[IAPROF_CALL_DEPTH_MAX];
	uint64_t tracks[IAPROF_CALL_DEPTH_MAX]; /* what the writer said when they began */
	uint32_t count;
	uint64_t begin; /* of the last one, or a later time: what begins earlier does not fit */
};

struct timeline {
	struct timeline *next;  /* in its bucket */
	struct timeline *later; /* the one that was added after it */
	struct track_key key;
	bool nests;                    /* slices may be inside of others */
	struct timeline_event *events; /* those that wait: a heap, the next one first */
	size_t event_count, event_capacity;
	struct timeline_lane *lanes;
	uint32_t lane_count;
};

/*
 * What the user of it does. lane: 0 for the first. Called in the order of what happened in each lane. begin() returns
 * what is passed to end().
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
	struct timeline *first, **end; /* in order of arrival, in which they are written */
	size_t count, waiting;
	uint64_t order;
	uint64_t forgotten; /* tracks were forgotten that had events of up to this time */
	uint64_t not_drawn; /* slices for which there was no lane */
	uint64_t refused;   /* events for which there was no track */
};

/*
 * Adds an event to a track; record is copied. What is passed as nests the first time holds. True as well when it was
 * refused. False when out of memory.
 */
bool timelines_add(struct timelines *timelines, const struct track_key *key, bool nests,
		   const struct timeline_event *event);
/* Writes what began before a time; where the slice around it has not come, only before an earlier one. */
void timelines_flush(struct timelines *timelines, uint64_t before, uint64_t before_nested);
/* Writes everything. */
void timelines_finish(struct timelines *timelines);
void timelines_free(struct timelines *timelines);

#endif
