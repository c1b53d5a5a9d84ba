/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of jobs and calls: its memory is bounded, and its sums are complete. */
#include <check.h>
#include <malloc.h>
#include <stdlib.h>

#include "profile/timeline.h"
#include "../run_suite.h"

#define JOBS 1000000u
#define MICROSECOND UINT64_C(1000)

static struct timeline timeline;

static void setup(void)
{
	timeline = (struct timeline){ 0 };
}

static void teardown(void)
{
	timeline_free(&timeline);
}

static const struct track_key engine = { .kind = IAPROF_TRACK_JOBS, .source = 1, .device = 1, .name = 5, .process = 0 };

static struct slot slots_sum(const struct track *track)
{
	struct slot sum = { 0 };
	for (uint32_t i = 0; i < TIMELINE_SLOT_COUNT; i++) {
		sum.count += track->slots[i].count;
		sum.busy += track->slots[i].busy;
		sum.waiting += track->slots[i].waiting;
		sum.aborted += track->slots[i].aborted;
	}
	return sum;
}

static size_t allocated(void)
{
	struct mallinfo2 now = mallinfo2();
	return now.uordblks + now.hblkhd;
}

TEST(memory_has_a_bound_and_sums_are_whole)
{
	size_t before = allocated(), most = 0;
	for (uint64_t i = 0; i < JOBS; i++) {
		struct iaprof_event job = { .begin = 50 * MICROSECOND * i,
					    .end = 50 * MICROSECOND * i + 40 * MICROSECOND + i % 7,
					    .count = 1,
					    .waiting = 13 * MICROSECOND,
					    .busy = 27 * MICROSECOND + i % 7,
					    .state = i % 1000 ? IAPROF_JOB_DONE : IAPROF_JOB_ABORTED };
		if (!timeline_add(&timeline, &engine, &(struct timeline_event){ job, 0 }))
			ck_abort_msg("out of memory");
		size_t now = i % 4096 ? 0 : allocated() - before;
		most = now > most ? now : most;
	}
	/* Twice the room for all events, as it grows, and the slots and tracks. */
	ck_assert_uint_lt(most, 2 * 2 * TIMELINE_EVENTS_MAX * sizeof(struct timeline_event));
	ck_assert_uint_le(timeline.event_count, TIMELINE_EVENTS_MAX);
	ck_assert_uint_eq(timeline.tracks.count, 1);
	const struct track *track = &timeline.tracks.items[0];
	uint64_t rest = JOBS / 7 * 21 + (JOBS % 7) * (JOBS % 7 - 1) / 2;
	ck_assert_ptr_nonnull(track->slots);
	struct slot sum = slots_sum(track);
	ck_assert_uint_eq(sum.count, JOBS);
	ck_assert_uint_eq(sum.aborted, JOBS / 1000);
	ck_assert_uint_eq(sum.waiting, JOBS * 13 * MICROSECOND);
	ck_assert_uint_eq(sum.busy, JOBS * 27 * MICROSECOND + rest);
	ck_assert_uint_eq(track->busy, sum.busy);
	ck_assert_uint_eq(track->count, JOBS);
	/* 50 s in 2,048 slots that are a power of 2 microseconds wide. */
	ck_assert_uint_eq(timeline_slot_width(&timeline), 32768 * MICROSECOND);
	/* Each whole slot is as busy as the jobs are. */
	for (uint32_t i = 1; i + 1 < timeline.last_slot - timeline.first_slot; i++) {
		double share = (double)track->slots[i].busy / (double)timeline_slot_width(&timeline);
		ck_assert_double_eq_tol(share, 0.54, 0.002);
	}
}

/* The part of an event in a slot, by whole numbers. */
static uint64_t overlap(const struct iaprof_event *event, uint64_t from, uint64_t to)
{
	uint64_t begin = event->begin > from ? event->begin : from, end = event->end < to ? event->end : to;
	return end > begin ? end - begin : 0;
}

TEST(slots_are_right_in_any_order)
{
	enum { COUNT = 40000 };
	struct iaprof_event *events = calloc(COUNT, sizeof *events);
	uint64_t expected[TIMELINE_SLOT_COUNT] = { 0 };
	ck_assert_ptr_nonnull(events);
	srand(7);
	for (uint32_t i = 0; i < COUNT; i++) {
		/* First in the middle, then on both sides: slots must extend to earlier times and become wider. */
		uint64_t range = (uint64_t)(i + 1) * 40 * MICROSECOND, middle = UINT64_C(10000000000);
		uint64_t begin = middle - range + (uint64_t)rand() % (2 * range), length = (uint64_t)rand() % 5000000;
		events[i] = (struct iaprof_event){ .begin = begin, .end = begin + length, .count = 1, .busy = length };
		if (!timeline_add(&timeline, &engine, &(struct timeline_event){ events[i], 0 }))
			ck_abort_msg("out of memory");
	}
	ck_assert_ptr_nonnull(timeline.tracks.items[0].slots);
	uint64_t width = timeline_slot_width(&timeline);
	for (uint32_t i = 0; i < COUNT; i++)
		for (uint64_t number = events[i].begin / width; number <= events[i].end / width; number++)
			expected[number - timeline.first_slot] +=
				overlap(&events[i], number * width, (number + 1) * width);
	/* Each part of each event is rounded to a nanosecond. */
	for (uint32_t i = 0; i < TIMELINE_SLOT_COUNT; i++)
		ck_assert_double_eq_tol((double)timeline.tracks.items[0].slots[i].busy, (double)expected[i], 5000);
	free(events);
}

TEST(the_largest_track_is_merged_first)
{
	struct track_key small = engine;
	small.name = 6;
	for (uint64_t i = 0; i < TIMELINE_EVENTS_MAX + 1000; i++)
		ck_assert(timeline_add(&timeline, i % 100 ? &engine : &small,
				       &(struct timeline_event){
					       { .begin = i * MICROSECOND, .end = i * MICROSECOND, .count = 1 }, 0 }));
	ck_assert_ptr_nonnull(timeline.tracks.items[1].slots);
	ck_assert_ptr_null(timeline.tracks.items[0].slots);
	ck_assert_uint_eq(timeline.tracks.items[0].events.count, timeline.tracks.items[0].count);
}

/* Calls that were added up are spread, and none of them twice. */
TEST(sums_of_calls_are_spread)
{
	const struct track_key calls = { .kind = IAPROF_TRACK_API, .source = 1, .name = 1, .process = 0 };
	for (uint64_t i = 0; i <= TIMELINE_EVENTS_MAX; i++)
		ck_assert(timeline_add(&timeline, &calls,
				       &(struct timeline_event){ { .begin = 1000000 * i,
								   .end = 1000000 * (i + 1),
								   .count = 1001,
								   .busy = 77777,
								   .duration = 77777 },
								 0 }));
	struct slot sum = slots_sum(&timeline.tracks.items[0]);
	ck_assert_uint_eq(sum.count, UINT64_C(1001) * (TIMELINE_EVENTS_MAX + 1));
	ck_assert_uint_eq(sum.busy, UINT64_C(77777) * (TIMELINE_EVENTS_MAX + 1));
	double each = 1001.0 * (double)timeline_slot_width(&timeline) / 1000000;
	for (uint32_t i = 1; i + 1 < timeline.last_slot - timeline.first_slot; i++)
		ck_assert_double_eq_tol((double)timeline.tracks.items[0].slots[i].count, each, each / 100);
}

TEST(too_many_tracks_are_one_of_their_kind)
{
	for (uint32_t i = 1; i <= 1000; i++) {
		struct track_key key = { .kind = IAPROF_TRACK_API, .source = 1, .name = i, .process = i };
		ck_assert(timeline_add(&timeline, &key,
				       &(struct timeline_event){ .event = { .begin = i, .end = i, .count = 2 } }));
	}
	ck_assert_uint_le(timeline.tracks.count, TIMELINE_TRACKS_MAX);
	uint64_t count = 0;
	for (uint32_t i = 0; i < timeline.tracks.count; i++)
		count += timeline.tracks.items[i].count;
	ck_assert_uint_eq(count, 2000);
	ck_assert_uint_eq(timeline.unplaced, 1000 - (TIMELINE_TRACKS_MAX - IAPROF_TRACK_COPIES));
}

/* Tracks that differ in one part of their key: each is one of its own as long as there is room, then all are one. */
TEST_LOOP(each_part_of_a_key_makes_a_track, 0, 4)
{
	enum { ROOM = TIMELINE_TRACKS_MAX - IAPROF_TRACK_COPIES };
	for (uint32_t i = 1; i <= ROOM + 10; i++) {
		struct track_key key = { .kind = IAPROF_TRACK_JOBS, .process = TRACK_NO_PROCESS };
		*(uint32_t *[]){ &key.source, &key.device, &key.name, &key.process }[_i] = i;
		for (int twice = 0; twice < 2; twice++)
			ck_assert(timeline_add(
				&timeline, &key,
				&(struct timeline_event){ .event = { .begin = i, .end = i, .count = 1 } }));
		ck_assert_uint_eq(timeline.tracks.count, i <= ROOM ? i : ROOM + 1);
		ck_assert_uint_eq(timeline.tracks.items[i <= ROOM ? i - 1 : ROOM].count,
				  i <= ROOM ? 2 : 2 * (i - ROOM));
	}
	ck_assert_uint_eq(timeline.unplaced, 20);
	/* The remainder of another kind is another track, and one that was asked for has room. */
	for (uint32_t kind = IAPROF_TRACK_API; kind <= IAPROF_TRACK_CONTEXT; kind++) {
		struct track_key key = { .kind = kind, .process = TRACK_NO_PROCESS };
		key.name = kind % 2;
		ck_assert(timeline_add(&timeline, &key,
				       &(struct timeline_event){ .event = { .begin = 1, .end = 1, .count = 1 } }));
		ck_assert_uint_eq(timeline.tracks.count, ROOM + 2 + kind - IAPROF_TRACK_API);
		ck_assert_uint_eq(timeline.tracks.items[timeline.tracks.count - 1].key.kind, kind);
		ck_assert_uint_eq(timeline.tracks.items[timeline.tracks.count - 1].key.name, 0);
	}
	ck_assert_uint_eq(timeline.begin, 1);
	ck_assert_uint_eq(timeline.end, ROOM + 10);
}

/* Of two tracks with as many events the first one is merged. */
TEST(the_first_of_the_largest_is_merged)
{
	struct track_key second = engine;
	second.name++;
	timeline.events_max = 3;
	for (int i = 0; i < 4; i++) {
		ck_assert_ptr_null(timeline.tracks.count ? timeline.tracks.items[0].slots : NULL);
		ck_assert(timeline_add(&timeline, i % 2 ? &second : &engine,
				       &(struct timeline_event){ .event = { .begin = 1, .end = 1, .count = 1 } }));
	}
	ck_assert_ptr_nonnull(timeline.tracks.items[0].slots);
	ck_assert_ptr_null(timeline.tracks.items[1].slots);
	ck_assert_uint_eq(timeline.event_count, 2);
}

/* A track of jobs that has no room for an event is merged at once: a job counts in the slot in which it ends. */
TEST(jobs_and_calls_are_in_their_slots)
{
	struct track_key calls = { .kind = IAPROF_TRACK_API, .source = 1, .name = 1 };
	const struct iaprof_event events[] = {
		{ .begin = 9500, .end = 12500, .count = 1, .waiting = 1500, .busy = 1500, .state = IAPROF_JOB_ABORTED },
		{ .begin = 11000, .end = 13000, .count = 1, .busy = 2000, .state = IAPROF_JOB_IN_FLIGHT },
	};
	timeline.events_max = 1;
	for (int i = 0; i < 2; i++) {
		ck_assert(timeline_add(&timeline, &engine, &(struct timeline_event){ events[i], 0 }));
		ck_assert_int_eq(timeline.tracks.items[0].slots != NULL, i);
	}
	ck_assert_uint_eq(timeline.event_count, 0);
	ck_assert_uint_eq(timeline.first_slot, 9);
	ck_assert_uint_eq(timeline.last_slot, 13);
	static const struct slot jobs[] = { { .waiting = 500 },
					    { .waiting = 1000 },
					    { .busy = 2000 },
					    { .busy = 1500, .count = 1, .aborted = 1 },
					    { .count = 1 } };
	for (size_t i = 0; i < 5; i++)
		ck_assert_mem_eq(&timeline.tracks.items[0].slots[i], &jobs[i], sizeof jobs[i]);
	ck_assert_uint_eq(timeline.tracks.items[0].aborted, 1);
	ck_assert_uint_eq(timeline.tracks.items[0].in_flight, 1);
	/* The first slots become earlier; a call counts where it begins, and has no state. */
	timeline.events_max = 1;
	ck_assert(timeline_add(&timeline, &calls, &(struct timeline_event){ events[0], 0 }));
	ck_assert(timeline_add(
		&timeline, &calls,
		&(struct timeline_event){ .event = { .begin = 7000, .end = 7001, .count = 1, .busy = 1 } }));
	static const struct slot expected[] = {
		{ .count = 1, .busy = 1 }, { 0 }, { .count = 1, .waiting = 500 }, { .waiting = 1000 }, { .busy = 1000 },
		{ .busy = 500 },           { 0 }
	};
	ck_assert_uint_eq(timeline.first_slot, 7);
	ck_assert_uint_eq(timeline.last_slot, 13);
	for (size_t i = 0; i < 7; i++)
		ck_assert_mem_eq(&timeline.tracks.items[1].slots[i], &expected[i], sizeof expected[i]);
	for (size_t i = 0; i < 5; i++)
		ck_assert_mem_eq(&timeline.tracks.items[0].slots[2 + i], &jobs[i], sizeof jobs[i]);
	ck_assert_uint_eq(timeline.tracks.items[1].aborted + timeline.tracks.items[1].in_flight, 0);
	/* As many slots as there are are used, and one more makes them wider. */
	ck_assert(timeline_add(&timeline, &calls,
			       &(struct timeline_event){ .event = { .begin = 1000 * (7 + TIMELINE_SLOT_COUNT) - 1,
								    .end = 1000 * (7 + TIMELINE_SLOT_COUNT) - 1,
								    .count = 1 } }));
	ck_assert_uint_eq(timeline.slot_shift, 0);
	ck_assert_uint_eq(timeline.tracks.items[1].slots[TIMELINE_SLOT_COUNT - 1].count, 1);
	ck_assert(timeline_add(&timeline, &calls,
			       &(struct timeline_event){ .event = { .begin = 1000 * (7 + TIMELINE_SLOT_COUNT),
								    .end = 1000 * (7 + TIMELINE_SLOT_COUNT),
								    .count = 1 } }));
	ck_assert_uint_eq(timeline.slot_shift, 1);
	ck_assert_uint_eq(timeline.first_slot, 3);
	ck_assert_uint_eq(timeline.last_slot, (7 + TIMELINE_SLOT_COUNT) / 2);
	static const struct slot wider[] = { { .busy = 1, .count = 1 },
					     { .count = 1, .waiting = 500 },
					     { .waiting = 1000, .busy = 1000 },
					     { .busy = 500 } };
	for (size_t i = 0; i < 4; i++)
		ck_assert_mem_eq(&timeline.tracks.items[1].slots[i], &wider[i], sizeof wider[i]);
	ck_assert_uint_eq(timeline.tracks.items[1].slots[(7 + TIMELINE_SLOT_COUNT) / 2 - 3].count, 2);
}

int main(void)
{
	return run_all_tests(0, setup, teardown);
}
