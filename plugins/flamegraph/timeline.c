/* SPDX-License-Identifier: Apache-2.0 */
/* See timeline.h. */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>

static uint64_t saturating_sum(uint64_t one, uint64_t other)
{
	return one + other < one ? UINT64_MAX : one + other;
}

static void add(uint64_t *sum, uint64_t more)
{
	*sum = saturating_sum(*sum, more);
}

static uint64_t key_hash(const struct track_key *key)
{
	return hash_bytes(key, sizeof *key); /* no padding: it is compared as bytes, too */
}

static bool track_is(const void *context, uint32_t position, const void *wanted)
{
	return memcmp(&((const struct timeline *)context)->tracks[position].key, wanted, sizeof(struct track_key)) == 0;
}

/* NULL: out of memory. */
static struct track *track_find(struct timeline *timeline, const struct track_key *key)
{
	const struct item_owner owner = { .is_equal = track_is, .context = timeline };
	if (!timeline->tracks)
		timeline->tracks = calloc(TIMELINE_TRACKS_MAX, sizeof *timeline->tracks);
	uint32_t *position = timeline->tracks ? item_index_find(&timeline->index, &owner, key_hash(key), key) : NULL;
	if (!position)
		return NULL;
	if (!*position) {
		/* The last places are for what is too many of a kind. */
		bool is_rest = !key->source && !key->device && !key->name && key->process == TRACK_NO_PROCESS;
		if (!is_rest && timeline->track_count >= TIMELINE_TRACKS_MAX - TRACK_CONTEXT) {
			timeline->unplaced++;
			return track_find(timeline,
					  &(struct track_key){ .kind = key->kind, .process = TRACK_NO_PROCESS });
		}
		timeline->tracks[timeline->track_count].key = *key;
		*position = ++timeline->track_count;
		timeline->index.used++;
	}
	return &timeline->tracks[*position - 1];
}

static uint64_t slot_number(const struct timeline *timeline, uint64_t time)
{
	return time / TIMELINE_SLOT_WIDTH >> timeline->slot_shift;
}

static void slot_add(struct slot *slot, const struct slot *more)
{
	add(&slot->count, more->count);
	add(&slot->busy, more->busy);
	add(&slot->waiting, more->waiting);
	add(&slot->aborted, more->aborted);
}

/* Slots that are twice as wide. */
static void slots_widen(struct timeline *timeline)
{
	uint64_t first = timeline->first_slot;
	for (uint32_t i = 0; i < timeline->track_count; i++) {
		struct slot *slots = timeline->tracks[i].slots;
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

/* The first slot becomes an earlier one; what is used then still has room. */
static void slots_move(struct timeline *timeline, uint64_t first)
{
	size_t by = timeline->first_slot - first;
	for (uint32_t i = 0; by && i < timeline->track_count; i++) {
		struct slot *slots = timeline->tracks[i].slots;
		if (!slots)
			continue;
		memmove(slots + by, slots, (TIMELINE_SLOT_COUNT - by) * sizeof *slots);
		memset(slots, 0, by * sizeof *slots);
	}
	timeline->first_slot = first;
}

/* Makes the slots cover a time. */
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

/* As much of an amount as belongs before a time, when it is spread evenly from begin to end. */
static uint64_t part_before(uint64_t amount, uint64_t begin, uint64_t end, uint64_t time)
{
	if (time >= end)
		return amount;
	if (time <= begin)
		return 0;
	double part = (double)amount * ((double)(time - begin) / (double)(end - begin));
	return part < (double)amount ? (uint64_t)part : amount;
}

/* Spreads amounts over the slots of a time. What is added is the amount, whatever is rounded. */
static void spread(const struct timeline *timeline, struct track *track, uint64_t begin, uint64_t end,
		   const struct slot *amount)
{
	struct slot done = { 0 };
	uint64_t last = slot_number(timeline, end > begin ? end - 1 : end);
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

static void merge_moment(struct timeline *timeline, struct track *track, const struct moment *moment)
{
	/* A job counts where it ends, a call where it begins, calls that were added up wherever they were. */
	bool is_job = track->key.kind == TRACK_JOBS;
	uint64_t ran = moment->begin + moment->waiting;
	slots_cover(timeline, moment->begin, moment->end);
	spread(timeline, track, ran, moment->end, &(struct slot){ .busy = moment->busy });
	spread(timeline, track, moment->begin, ran, &(struct slot){ .waiting = moment->waiting });
	spread(timeline, track, is_job ? moment->end : moment->begin,
	       is_job || moment->count > 1 ? moment->end : moment->begin,
	       &(struct slot){ .count = moment->count, .aborted = is_job && moment->state == IAPROF_JOB_ABORTED });
}

/* Puts the moments of the track that has the most into slots. */
static bool merge_largest(struct timeline *timeline)
{
	struct track *largest = timeline->tracks;
	for (uint32_t i = 1; i < timeline->track_count; i++)
		if (timeline->tracks[i].moment_count > largest->moment_count)
			largest = &timeline->tracks[i];
	largest->slots = calloc(TIMELINE_SLOT_COUNT, sizeof *largest->slots);
	if (!largest->slots)
		return false;
	for (uint32_t i = 0; i < largest->moment_count; i++)
		merge_moment(timeline, largest, &largest->moments[i]);
	timeline->moment_count -= largest->moment_count;
	free(largest->moments);
	largest->moments = NULL;
	largest->moment_count = largest->moment_capacity = 0;
	return true;
}

static bool moment_keep(struct track *track, const struct moment *moment)
{
	if (track->moment_count == track->moment_capacity) {
		uint32_t capacity = track->moment_capacity ? 2 * track->moment_capacity : 16;
		struct moment *moments = realloc(track->moments, capacity * sizeof *moments);
		if (!moments)
			return false;
		track->moments = moments;
		track->moment_capacity = capacity;
	}
	track->moments[track->moment_count++] = *moment;
	return true;
}

bool timeline_add(struct timeline *timeline, const struct track_key *key, const struct moment *moment)
{
	struct track *track = track_find(timeline, key);
	if (!track)
		return false;
	if (!timeline->has_time || moment->begin < timeline->begin)
		timeline->begin = moment->begin;
	if (!timeline->has_time || moment->end > timeline->end)
		timeline->end = moment->end;
	timeline->has_time = true;
	add(&track->count, moment->count);
	add(&track->busy, moment->busy);
	add(&track->waiting, moment->waiting);
	track->aborted += key->kind == TRACK_JOBS && moment->state == IAPROF_JOB_ABORTED;
	track->in_flight += key->kind == TRACK_JOBS && moment->state == IAPROF_JOB_IN_FLIGHT;
	if (track->slots) {
		merge_moment(timeline, track, moment);
		return true;
	}
	if (!moment_keep(track, moment))
		return false;
	uint32_t most = timeline->moments_max ? timeline->moments_max : TIMELINE_MOMENTS_MAX;
	return ++timeline->moment_count <= most || merge_largest(timeline);
}

void timeline_free(struct timeline *timeline)
{
	for (uint32_t i = 0; i < timeline->track_count; i++) {
		free(timeline->tracks[i].moments);
		free(timeline->tracks[i].slots);
	}
	free(timeline->tracks);
	free(timeline->index.slots);
	*timeline = (struct timeline){ 0 };
}
