/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sink perfetto keeps has a bound, and so has what a record costs: a walk over everything makes room for many.
 * Walks are counted, as what they let go.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sink-perfetto/timelines.h"
#include "sink-perfetto/tracks.h"
#include "../run_suite.h"

/* A quarter more than can wait. */
#define EVENTS (TIMELINES_WAITING_COUNT_MAX + TIMELINES_WAITING_COUNT_MAX / 4)
#define REFUSED 10000 /* processes */
/* More than there is room for tracks. */
#define TRACKS (TIMELINES_BUSY_COUNT_MAX + 1000)

static char thread_name[16];

/* Keeps what a reader of the trace would: the name of the last description of a thread. */
void packets_track(struct packets *packets, const struct packet_track *track)
{
	if (track->tid)
		snprintf(thread_name, sizeof thread_name, "%s", track->name ? track->name : "");
}

static uint64_t begun, ended;

static uint64_t begin(void *context, const struct timeline *timeline, uint32_t lane, const struct timeline_event *event)
{
	(void)context, (void)timeline, (void)lane, (void)event;
	begun++;
	return 0;
}

static void end(void *context, uint64_t track, uint64_t time)
{
	(void)context, (void)track, (void)time;
	ended++;
}

/* Adds slices without any SYNC, each on the next of a number of tracks. Returns how often some were let go. */
static uint32_t add_slices(struct timelines *timelines, uint32_t count, uint32_t track_count, uint64_t duration)
{
	struct iaprof_record record = { .size = sizeof record };
	uint32_t walks = 0;
	begun = ended = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct track_key key = { TRACK_CALLS, { 1, i % track_count, 0 } };
		const struct timeline_event event = { .begin = 1 + i, .end = 1 + i + duration, .record = &record };
		uint64_t before = begun + timelines->not_drawn;
		if (!timelines_add(timelines, &key, false, &event))
			ck_abort_msg("out of memory");
		walks += begun + timelines->not_drawn > before;
		if (walks > count / (TIMELINES_WAITING_COUNT_MAX / 8))
			ck_abort_msg("%u walks for %u events", walks, i);
		if (timelines->waiting > TIMELINES_WAITING_COUNT_MAX || timelines->count > TIMELINES_BUSY_COUNT_MAX)
			ck_abort_msg("%zu events wait on %zu tracks", timelines->waiting, timelines->count);
	}
	return walks;
}

TEST_LOOP(events_are_let_go_many_at_once, 0, 3)
{
	static const uint32_t track_counts[] = { 1, 1000, 2 * TIMELINES_COUNT_MAX };
	uint32_t track_count = track_counts[_i];
	struct timelines timelines = { .writer = { .begin = begin, .end = end } };
	uint32_t walks = add_slices(&timelines, EVENTS, track_count, 1);
	ck_assert_uint_ge(walks, 1);
	timelines_finish(&timelines);
	/* None is missing. */
	ck_assert_uint_eq(begun, EVENTS);
	ck_assert_uint_eq(ended, EVENTS);
	ck_assert_uint_eq(timelines.not_drawn + timelines.refused, 0);
	timelines_free(&timelines);
}

/* They cannot be forgotten: what there is no room for is counted. */
TEST(tracks_of_slices_that_do_not_end_have_a_bound)
{
	struct timelines timelines = { .writer = { .begin = begin, .end = end } };
	add_slices(&timelines, TRACKS, TRACKS, 1ull << 40);
	ck_assert_uint_eq(timelines.count, TIMELINES_BUSY_COUNT_MAX);
	timelines_finish(&timelines);
	ck_assert_uint_eq(begun, ended);
	ck_assert_uint_eq(begun + timelines.not_drawn + timelines.refused, TRACKS);
	ck_assert_uint_gt(timelines.refused, 0);
	timelines_free(&timelines);
}

static void take_process(struct tracks *tracks, uint32_t pid, uint32_t event)
{
	const struct iaprof_record_process record = { .header = { .size = sizeof record,
								  .type = IAPROF_RECORD_PROCESS },
						      .pid = pid,
						      .event = event,
						      .name = 7 };
	if (!tracks_process(tracks, &record))
		ck_abort_msg("out of memory");
}

TEST(processes_are_forgotten_many_at_once)
{
	struct tracks *tracks = calloc(1, sizeof *tracks);
	ck_assert_ptr_nonnull(tracks);
	for (uint32_t pid = 1; pid <= TRACKS_PROCESS_COUNT_MAX; pid++)
		take_process(tracks, pid, IAPROF_PROCESS_FORK);
	for (uint32_t pid = 1; pid < TRACKS_ENDED_COUNT_MIN; pid++)
		for (int twice = 0; twice < 2; twice++)
			take_process(tracks, pid, IAPROF_PROCESS_EXIT);
	take_process(tracks, 1, IAPROF_PROCESS_FORK); /* it runs again */
	take_process(tracks, TRACKS_ENDED_COUNT_MIN, IAPROF_PROCESS_EXIT);
	/* Too few have ended: new ones are only counted, and none is removed. */
	for (uint32_t i = 1; i <= REFUSED; i++)
		take_process(tracks, TRACKS_PROCESS_COUNT_MAX + i, IAPROF_PROCESS_FORK);
	ck_assert_uint_eq(tracks->refused, REFUSED);
	ck_assert_uint_eq(tracks->process_count, TRACKS_PROCESS_COUNT_MAX);
	ck_assert_uint_eq(tracks->ended_count, TRACKS_ENDED_COUNT_MIN - 1);
	take_process(tracks, 1, IAPROF_PROCESS_EXIT);
	take_process(tracks, TRACKS_PROCESS_COUNT_MAX + 1, IAPROF_PROCESS_FORK);
	ck_assert_uint_eq(tracks->refused, REFUSED);
	ck_assert_uint_eq(tracks->process_count, TRACKS_PROCESS_COUNT_MAX - TRACKS_ENDED_COUNT_MIN + 1);
	ck_assert_uint_eq(tracks->ended_count, 0);
	tracks_free(tracks);
	free(tracks);
}

/* The name of a process is that of its threads until they get their own. */
TEST(threads_keep_their_own_names)
{
	static const struct {
		const char *names[4], *shown;
	} cases[] = {
		{ { "program" }, "program" },
		{ { "program", "worker" }, "worker" },
		{ { "worker", "program" }, "worker" },
		{ { "worker", "program", "other" }, "other" },
		{ { NULL, "program", "worker" }, "worker" },
		{ { "worker", NULL }, "worker" },
		{ { NULL, "program" }, "program" },
	};
	struct {
		struct iaprof_record_string head;
		char text[8];
	} string = { { { .size = sizeof string, .type = IAPROF_RECORD_STRING }, .id = 7, .length = 7 }, "program" };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct definitions definitions = { 0 };
		struct tracks *tracks = calloc(1, sizeof *tracks);
		ck_assert_ptr_nonnull(tracks);
		ck_assert_int_eq(definitions_take(&definitions, &string.head.header), 0);
		tracks->definitions = &definitions;
		take_process(tracks, 5, IAPROF_PROCESS_FORK);
		for (size_t j = 0; j < sizeof cases->names / sizeof *cases->names; j++)
			if (cases[i].names[j])
				tracks_name_thread(tracks, 5, 6, cases[i].names[j]);
			else
				tracks_find(tracks, &(struct track_key){ TRACK_THREAD, { 5, 6, 0 } }, 0);
		ck_assert_str_eq(thread_name, cases[i].shown);
		tracks_free(tracks);
		free(tracks);
		definitions_free(&definitions);
	}
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
