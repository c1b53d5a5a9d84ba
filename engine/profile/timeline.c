/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks of jobs and calls, merged into slots if there are too many: see timeline.h. */
#include "profile/timeline.h"

#include <string.h>

#include "base/saturating.h"

/* Returns the track with a key, adding it if it is new; NULL: out of memory. */
static struct track *track_find(struct timeline *timeline, const struct track_key *key)
{
	struct track *track = keyed_array_get(&timeline->tracks, key);
	if (track)
		return track;
	/* The last positions are reserved for the remainder of each kind. */
	bool is_remainder = !key->source && !key->device && !key->name && key->process == TRACK_NO_PROCESS;
	if (!is_remainder && timeline->tracks.count >= TIMELINE_TRACKS_MAX - IAPROF_TRACK_COPIES) {
		timeline->unplaced = saturating_add(timeline->unplaced, 1);
		return track_find(timeline, &(struct track_key){ .kind = key->kind, .process = TRACK_NO_PROCESS });
	}
	uint32_t position = keyed_array_add(&timeline->tracks, &(struct track){ .key = *key });
	return position == POSITION_NONE ? NULL : &timeline->tracks.items[position];
}

static uint64_t slot_number(const struct timeline *timeline, uint64_t time)
{
	return time / TIMELINE_SLOT_WIDTH >> timeline->slot_shift;
}

static void slot_add(struct slot *slot, const struct slot *more)
{
	saturating_increase(&slot->count, more->count);
	saturating_increase(&slot->busy, more->busy);
	saturating_increase(&slot->waiting, more->waiting);
	saturating_increase(&slot->aborted, more->aborted);
}

/* Doubles the width of the slots. */
static void slots_widen(struct timeline *timeline)
{
	uint64_t first = timeline->first_slot;
	for (size_t i = 0; i < timeline->tracks.count; i++) {
		struct slot *slots = timeline->tracks.items[i].slots;
		for (uint32_t from = 0; slots && from < TIMELINE_SLOT_COUNT; from++) {
			uint64_t to = (first + from) / 2 - first / 2;
			if (to == from)
				continue;
			slot_add(&slots[to], &slots[from]);
			slots[from] = (struct slot){ 0 };
		}
	}
	timeline->slot_shift++;
	timeline->first_slot /= 2;
	timeline->last_slot /= 2;
}

/* Moves the first slot to an earlier time. The caller ensures that the used slots still fit. */
static void slots_move(struct timeline *timeline, uint64_t first)
{
	size_t by = timeline->first_slot - first;
	for (size_t i = 0; by && i < timeline->tracks.count; i++) {
		struct slot *slots = timeline->tracks.items[i].slots;
		if (!slots)
			continue;
		memmove(slots + by, slots, (TIMELINE_SLOT_COUNT - by) * sizeof *slots);
		memset(slots, 0, by * sizeof *slots);
	}
	timeline->first_slot = first;
}

/* Makes the slots cover an interval, widening them if necessary. */
static void slots_cover(struct timeline *timeline, uint64_t begin, uint64_t end)
{
	if (!timeline->has_slots) {
		timeline->has_slots = true;
		timeline->first_slot = timeline->last_slot = slot_number(timeline, begin);
	}
	for (;; slots_widen(timeline)) {
		uint64_t first = slot_number(timeline, begin), last = slot_number(timeline, end);
		if (first > timeline->first_slot)
			first = timeline->first_slot;
		if (last < timeline->last_slot)
			last = timeline->last_slot;
		if (last - first >= TIMELINE_SLOT_COUNT)
			continue;
		slots_move(timeline, first);
		timeline->last_slot = last;
		return;
	}
}

/* Returns the part of an amount, spread evenly from begin to end, that lies before a time. */
static uint64_t part_before(uint64_t amount, uint64_t begin, uint64_t end, uint64_t time)
{
	if (time >= end)
		return amount;
	if (time <= begin)
		return 0;
	double part = (double)amount * ((double)(time - begin) / (double)(end - begin));
	return part < (double)amount ? (uint64_t)part : amount;
}

/* Spreads amounts over the slots of an interval without rounding losses. */
static void spread(const struct timeline *timeline, struct track *track, uint64_t begin, uint64_t end,
		   const struct slot *amount)
{
	struct slot done = { 0 };
	uint64_t last = slot_number(timeline, end);
	for (uint64_t number = slot_number(timeline, begin); number <= last; number++) {
		uint64_t until = number == last ? end : ((number + 1) << timeline->slot_shift) * TIMELINE_SLOT_WIDTH;
		struct slot now = { .count = part_before(amount->count, begin, end, until),
				    .busy = part_before(amount->busy, begin, end, until),
				    .waiting = part_before(amount->waiting, begin, end, until),
				    .aborted = part_before(amount->aborted, begin, end, until) };
		slot_add(&track->slots[number - timeline->first_slot],
			 &(struct slot){ .count = now.count - done.count,
					 .busy = now.busy - done.busy,
					 .waiting = now.waiting - done.waiting,
					 .aborted = now.aborted - done.aborted });
		done = now;
	}
}

static bool has_jobs(uint32_t kind)
{
	return iaprof_track_has_jobs(&(struct iaprof_track){ .kind = kind });
}

static void merge_event(struct timeline *timeline, struct track *track, const struct iaprof_event *event)
{
	/* A job is counted in the slot where it ends, a call where it begins, aggregated calls proportionally. */
	bool is_job = has_jobs(track->key.kind);
	uint64_t ran = event->begin + event->waiting;
	slots_cover(timeline, event->begin, event->end);
	spread(timeline, track, ran, event->end, &(struct slot){ .busy = event->busy });
	spread(timeline, track, event->begin, ran, &(struct slot){ .waiting = event->waiting });
	spread(timeline, track, is_job ? event->end : event->begin,
	       is_job || event->count > 1 ? event->end : event->begin,
	       &(struct slot){ .count = event->count, .aborted = is_job && event->state == IAPROF_JOB_ABORTED });
}

/* Merges the events of the largest track into slots. Returns false when out of memory. */
static bool merge_largest(struct timeline *timeline)
{
	struct track *largest = timeline->tracks.items;
	for (size_t i = 1; i < timeline->tracks.count; i++)
		if (timeline->tracks.items[i].events.count > largest->events.count)
			largest = &timeline->tracks.items[i];
	largest->slots = calloc(TIMELINE_SLOT_COUNT, sizeof *largest->slots);
	if (!largest->slots)
		return false;
	for (size_t i = 0; i < largest->events.count; i++)
		merge_event(timeline, largest, &largest->events.items[i].event);
	timeline->event_count -= largest->events.count;
	array_free(&largest->events);
	return true;
}

bool timeline_add(struct timeline *timeline, const struct track_key *key, const struct timeline_event *added)
{
	const struct iaprof_event *event = &added->event;
	struct track *track = track_find(timeline, key);
	if (!track)
		return false;
	if (!timeline->has_time || event->begin < timeline->begin)
		timeline->begin = event->begin;
	if (!timeline->has_time || event->end > timeline->end)
		timeline->end = event->end;
	timeline->has_time = true;
	saturating_increase(&track->count, event->count);
	saturating_increase(&track->busy, event->busy);
	saturating_increase(&track->waiting, event->waiting);
	track->aborted += has_jobs(key->kind) && event->state == IAPROF_JOB_ABORTED;
	track->in_flight += has_jobs(key->kind) && event->state == IAPROF_JOB_IN_FLIGHT;
	if (track->slots) {
		merge_event(timeline, track, event);
		return true;
	}
	if (!array_push(&track->events, *added))
		return false;
	size_t most = timeline->events_max ? timeline->events_max : TIMELINE_EVENTS_MAX;
	return ++timeline->event_count <= most || merge_largest(timeline);
}

void timeline_free(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->tracks.count; i++) {
		array_free(&timeline->tracks.items[i].events);
		free(timeline->tracks.items[i].slots);
	}
	keyed_array_free(&timeline->tracks);
	*timeline = (struct timeline){ 0 };
}
