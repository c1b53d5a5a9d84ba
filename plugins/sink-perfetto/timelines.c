/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the events of tracks into order: see timelines.h. */
#include "timelines.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"

#define BUCKET_COUNT (sizeof((struct timelines *)NULL)->buckets / sizeof(struct timeline *))

/* Returns whether an event precedes another; enclosing events come first. */
static bool is_earlier(const struct timeline_event *event, const struct timeline_event *other)
{
	if (event->begin != other->begin)
		return event->begin < other->begin;
	if (event->end != other->end)
		return event->end > other->end;
	if (event->depth != other->depth)
		return event->depth < other->depth;
	return event->order < other->order;
}

static void sift_up(struct timeline_event *events, size_t at)
{
	for (size_t parent; at && is_earlier(&events[at], &events[parent = (at - 1) / 2]); at = parent) {
		struct timeline_event swapped = events[at];
		events[at] = events[parent];
		events[parent] = swapped;
	}
}

static void sift_down(struct timeline_event *events, size_t count)
{
	for (size_t at = 0;;) {
		size_t first = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
			if (is_earlier(&events[child], &events[first]))
				first = child;
		if (first == at)
			return;
		struct timeline_event swapped = events[at];
		events[at] = events[first];
		events[first] = swapped;
		at = first;
	}
}

static void end_innermost(const struct timelines *timelines, struct timeline_lane *lane)
{
	lane->count--;
	timelines->writer.end(timelines->writer.context, lane->tracks[lane->count], lane->ends[lane->count]);
}

/* Returns whether a slice fits into a lane, ending the lane's slices that are over by then. */
static bool lane_takes(const struct timelines *timelines, const struct timeline *timeline, uint32_t number,
		       const struct timeline_event *event)
{
	struct timeline_lane *lane = &timeline->lanes[number];
	if (event->begin < lane->begin)
		return false; /* too late: later events were already written */
	while (lane->count && lane->ends[lane->count - 1] <= event->begin)
		end_innermost(timelines, lane);
	if (!lane->count)
		return true;
	return timeline->nests && lane->count < IAPROF_CALL_DEPTH_MAX && event->end <= lane->ends[lane->count - 1] &&
	       event->depth > lane->depths[lane->count - 1];
}

/* Returns the lane for a slice, or TIMELINE_LANE_COUNT_MAX. */
static uint32_t find_lane(struct timelines *timelines, struct timeline *timeline, const struct timeline_event *event)
{
	for (uint32_t i = 0; i < timeline->lane_count; i++)
		if (lane_takes(timelines, timeline, i, event))
			return i;
	if (timeline->lane_count == TIMELINE_LANE_COUNT_MAX || event->begin < timelines->forgotten)
		return TIMELINE_LANE_COUNT_MAX;
	struct timeline_lane *lanes = realloc(timeline->lanes, (timeline->lane_count + 1) * sizeof *lanes);
	if (!lanes)
		return TIMELINE_LANE_COUNT_MAX;
	timeline->lanes = lanes;
	lanes[timeline->lane_count] = (struct timeline_lane){ 0 };
	return timeline->lane_count++;
}

static void write_event(struct timelines *timelines, struct timeline *timeline, const struct timeline_event *event)
{
	if (event->begin == event->end) {
		timelines->writer.begin(timelines->writer.context, timeline, 0, event);
		return;
	}
	uint32_t number = find_lane(timelines, timeline, event);
	if (number == TIMELINE_LANE_COUNT_MAX) {
		timelines->not_drawn++;
		return;
	}
	struct timeline_lane *lane = &timeline->lanes[number];
	lane->begin = event->begin;
	lane->ends[lane->count] = event->end;
	lane->depths[lane->count] = event->depth;
	lane->tracks[lane->count++] = timelines->writer.begin(timelines->writer.context, timeline, number, event);
}

static void write_first(struct timelines *timelines, struct timeline *timeline)
{
	struct timeline_event event = timeline->events[0];
	timeline->events[0] = timeline->events[--timeline->event_count];
	sift_down(timeline->events, timeline->event_count);
	timelines->waiting--;
	write_event(timelines, timeline, &event);
	free(event.record);
}

static void end_lanes(struct timelines *timelines, struct timeline *timeline, uint64_t before)
{
	for (uint32_t i = 0; i < timeline->lane_count; i++) {
		struct timeline_lane *lane = &timeline->lanes[i];
		while (lane->count && lane->ends[lane->count - 1] < before) {
			lane->begin = lane->ends[lane->count - 1];
			end_innermost(timelines, lane);
		}
	}
}

/* Returns whether a nested slice must wait for its enclosing slice, which is reported later. */
static bool waits_for_outer(const struct timeline *timeline)
{
	const struct timeline_event *event = &timeline->events[0];
	if (!timeline->nests || !event->depth || event->begin == event->end)
		return false;
	for (uint32_t i = 0; i < timeline->lane_count; i++) {
		const struct timeline_lane *lane = &timeline->lanes[i];
		for (uint32_t at = lane->count; at-- > 0;)
			if (lane->depths[at] < event->depth && lane->ends[at] >= event->end)
				return false;
	}
	return true;
}

static void timeline_free(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->event_count; i++)
		free(timeline->events[i].record);
	free(timeline->events);
	free(timeline->lanes);
	free(timeline);
}

static bool is_idle(const struct timeline *timeline)
{
	for (uint32_t i = 0; i < timeline->lane_count; i++)
		if (timeline->lanes[i].count)
			return false;
	return !timeline->event_count;
}

static void bucket_remove(struct timelines *timelines, const struct timeline *timeline)
{
	struct timeline **place = &timelines->buckets[track_key_hash(&timeline->key) % BUCKET_COUNT];
	while (*place != timeline)
		place = &(*place)->next;
	*place = timeline->next;
}

/* Removes idle tracks whose slices ended before a given time, if there are many. */
static void forget_idle(struct timelines *timelines, uint64_t before)
{
	if (timelines->count <= TIMELINES_COUNT_MAX)
		return;
	struct timeline **place = &timelines->first;
	for (struct timeline *timeline; (timeline = *place);) {
		if (!timeline->event_count)
			end_lanes(timelines, timeline, before);
		if (!is_idle(timeline)) {
			place = &timeline->later;
			continue;
		}
		bucket_remove(timelines, timeline);
		*place = timeline->later;
		timelines->count--;
		timeline_free(timeline);
	}
	timelines->end = place;
	if (timelines->forgotten < before)
		timelines->forgotten = before;
}

/* Writes the older half of each track, so that one pass makes room for many events. */
static void make_room(struct timelines *timelines)
{
	uint64_t latest = 0;
	for (struct timeline *timeline = timelines->first; timeline; timeline = timeline->later)
		for (size_t count = (timeline->event_count + 1) / 2; count; count--) {
			if (timeline->events[0].begin > latest)
				latest = timeline->events[0].begin;
			write_first(timelines, timeline);
		}
	forget_idle(timelines, latest);
}

/*
 * Sets *found to the timeline of a track, created if necessary; NULL if there are too many. Returns false when out of
 * memory.
 */
static bool find_or_add(struct timelines *timelines, const struct track_key *key, bool nests, struct timeline **found)
{
	struct timeline **bucket = &timelines->buckets[track_key_hash(key) % BUCKET_COUNT];
	for (struct timeline *timeline = *bucket; timeline; timeline = timeline->next)
		if (track_key_is_equal(&timeline->key, key)) {
			*found = timeline;
			return true;
		}
	*found = NULL;
	if (timelines->count >= TIMELINES_BUSY_COUNT_MAX)
		return true;
	struct timeline *timeline = calloc(1, sizeof *timeline);
	if (!timeline)
		return false;
	timeline->key = *key;
	timeline->nests = nests;
	timeline->next = *bucket;
	*bucket = timeline;
	*(timelines->first ? timelines->end : &timelines->first) = timeline;
	timelines->end = &timeline->later;
	timelines->count++;
	*found = timeline;
	return true;
}

bool timelines_add(struct timelines *timelines, const struct track_key *key, bool nests,
		   const struct timeline_event *event)
{
	if (timelines->waiting >= TIMELINES_WAITING_COUNT_MAX)
		make_room(timelines);
	struct timeline *timeline;
	if (!find_or_add(timelines, key, nests, &timeline))
		return false;
	if (!timeline) {
		timelines->refused++;
		return true;
	}
	if (!array_grow((void **)&timeline->events, &timeline->event_capacity, timeline->event_count + 1,
			sizeof *timeline->events))
		return false;
	struct timeline_event *added = &timeline->events[timeline->event_count];
	*added = *event;
	added->order = timelines->order++;
	added->record = malloc(event->record->size);
	if (!added->record)
		return false;
	memcpy(added->record, event->record, event->record->size);
	sift_up(timeline->events, timeline->event_count++);
	timelines->waiting++;
	return true;
}

void timelines_flush(struct timelines *timelines, uint64_t before, uint64_t before_nested)
{
	for (struct timeline *timeline = timelines->first; timeline; timeline = timeline->later)
		while (timeline->event_count && timeline->events[0].begin < before &&
		       (timeline->events[0].begin < before_nested || !waits_for_outer(timeline)))
			write_first(timelines, timeline);
	forget_idle(timelines, before);
}

void timelines_finish(struct timelines *timelines)
{
	for (struct timeline *timeline = timelines->first; timeline; timeline = timeline->later) {
		while (timeline->event_count)
			write_first(timelines, timeline);
		end_lanes(timelines, timeline, UINT64_MAX);
	}
}

void timelines_free(struct timelines *timelines)
{
	for (struct timeline *timeline = timelines->first, *later; timeline; timeline = later) {
		later = timeline->later;
		timeline_free(timeline);
	}
	memset(timelines->buckets, 0, sizeof timelines->buckets);
	timelines->first = NULL;
}
