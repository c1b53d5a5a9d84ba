/* SPDX-License-Identifier: Apache-2.0 */
/* The flame graph page's timeline: what is kept of jobs and calls has a bound, and nothing of them is lost in it. */
#include <check.h>
#include <malloc.h>
#include <stdlib.h>

#include <iaprof/record.h>

#include "npu_events.h"

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

static const struct track_key engine = { .kind = TRACK_JOBS, .source = 1, .device = 1, .name = 5, .process = 0 };

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

START_TEST(memory_has_a_bound_and_sums_are_whole)
{
	size_t before = allocated(), most = 0;
	for (uint64_t i = 0; i < JOBS; i++) {
		struct moment job = { .begin = 50 * MICROSECOND * i,
				      .end = 50 * MICROSECOND * i + 40 * MICROSECOND + i % 7,
				      .count = 1,
				      .waiting = 13 * MICROSECOND,
				      .busy = 27 * MICROSECOND + i % 7,
				      .state = i % 1000 ? IAPROF_JOB_DONE : IAPROF_JOB_ABORTED };
		if (!timeline_add(&timeline, &engine, &job))
			ck_abort_msg("out of memory");
		size_t now = i % 4096 ? 0 : allocated() - before;
		most = now > most ? now : most;
	}
	/* Twice the room for all moments, as it grows, and the slots and tracks. */
	ck_assert_uint_lt(most, 2 * 2 * TIMELINE_MOMENTS_MAX * sizeof(struct moment));
	ck_assert_uint_le(timeline.moment_count, TIMELINE_MOMENTS_MAX);
	ck_assert_uint_eq(timeline.track_count, 1);
	const struct track *track = &timeline.tracks[0];
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
END_TEST

/* What of a moment is in a slot, by whole numbers. */
static uint64_t overlap(const struct moment *moment, uint64_t from, uint64_t to)
{
	uint64_t begin = moment->begin > from ? moment->begin : from, end = moment->end < to ? moment->end : to;
	return end > begin ? end - begin : 0;
}

START_TEST(slots_are_right_in_any_order)
{
	enum { COUNT = 40000 };
	struct moment *moments = calloc(COUNT, sizeof *moments);
	uint64_t expected[TIMELINE_SLOT_COUNT] = { 0 };
	ck_assert_ptr_nonnull(moments);
	srand(7);
	for (uint32_t i = 0; i < COUNT; i++) {
		/* First in the middle, then on both sides: slots have to become earlier and wider. */
		uint64_t range = (uint64_t)(i + 1) * 40 * MICROSECOND, middle = UINT64_C(10000000000);
		uint64_t begin = middle - range + (uint64_t)rand() % (2 * range), length = (uint64_t)rand() % 5000000;
		moments[i] = (struct moment){ .begin = begin, .end = begin + length, .count = 1, .busy = length };
		if (!timeline_add(&timeline, &engine, &moments[i]))
			ck_abort_msg("out of memory");
	}
	ck_assert_ptr_nonnull(timeline.tracks[0].slots);
	uint64_t width = timeline_slot_width(&timeline);
	for (uint32_t i = 0; i < COUNT; i++)
		for (uint64_t number = moments[i].begin / width; number <= moments[i].end / width; number++)
			expected[number - timeline.first_slot] +=
				overlap(&moments[i], number * width, (number + 1) * width);
	/* Each part of each moment is rounded to a nanosecond. */
	for (uint32_t i = 0; i < TIMELINE_SLOT_COUNT; i++)
		ck_assert_double_eq_tol((double)timeline.tracks[0].slots[i].busy, (double)expected[i], 5000);
	free(moments);
}
END_TEST

START_TEST(the_largest_track_is_merged_first)
{
	struct track_key small = engine;
	small.name = 6;
	for (uint64_t i = 0; i < TIMELINE_MOMENTS_MAX + 1000; i++)
		ck_assert(
			timeline_add(&timeline, i % 100 ? &engine : &small,
				     &(struct moment){ .begin = i * MICROSECOND, .end = i * MICROSECOND, .count = 1 }));
	ck_assert_ptr_nonnull(timeline.tracks[1].slots);
	ck_assert_ptr_null(timeline.tracks[0].slots);
	ck_assert_uint_eq(timeline.tracks[0].moment_count, timeline.tracks[0].count);
}
END_TEST

/* Calls that were added up are spread, and none of them twice. */
START_TEST(sums_of_calls_are_spread)
{
	const struct track_key calls = { .kind = TRACK_API, .source = 1, .name = 1, .process = 0 };
	for (uint64_t i = 0; i <= TIMELINE_MOMENTS_MAX; i++)
		ck_assert(timeline_add(&timeline, &calls,
				       &(struct moment){ .begin = 1000000 * i,
							 .end = 1000000 * (i + 1),
							 .count = 1001,
							 .busy = 77777,
							 .duration = 77777 }));
	struct slot sum = slots_sum(&timeline.tracks[0]);
	ck_assert_uint_eq(sum.count, UINT64_C(1001) * (TIMELINE_MOMENTS_MAX + 1));
	ck_assert_uint_eq(sum.busy, UINT64_C(77777) * (TIMELINE_MOMENTS_MAX + 1));
	double each = 1001.0 * (double)timeline_slot_width(&timeline) / 1000000;
	for (uint32_t i = 1; i + 1 < timeline.last_slot - timeline.first_slot; i++)
		ck_assert_double_eq_tol((double)timeline.tracks[0].slots[i].count, each, each / 100);
}
END_TEST

START_TEST(too_many_tracks_are_one_of_their_kind)
{
	for (uint32_t i = 1; i <= 1000; i++) {
		struct track_key key = { .kind = TRACK_API, .source = 1, .name = i, .process = i };
		ck_assert(timeline_add(&timeline, &key, &(struct moment){ .begin = i, .end = i, .count = 2 }));
	}
	ck_assert_uint_le(timeline.track_count, TIMELINE_TRACKS_MAX);
	uint64_t count = 0;
	for (uint32_t i = 0; i < timeline.track_count; i++)
		count += timeline.tracks[i].count;
	ck_assert_uint_eq(count, 2000);
	ck_assert_uint_eq(timeline.unplaced, 1000 - (TIMELINE_TRACKS_MAX - TRACK_CONTEXT));
}
END_TEST

static struct iaprof_record_process process_record(uint32_t pid, uint32_t event, uint32_t name, uint32_t parent)
{
	return (struct iaprof_record_process){ .header = { .size = sizeof(struct iaprof_record_process),
							   .type = IAPROF_RECORD_PROCESS },
					       .pid = pid,
					       .parent_pid = parent,
					       .event = event,
					       .name = name };
}

START_TEST(an_id_that_is_used_again_is_another_process)
{
	struct process_names names = { 0 };
	uint32_t first, second, third;
	const struct iaprof_record_process records[] = { process_record(5, IAPROF_PROCESS_EXISTING, 50, 0),
							 process_record(5, IAPROF_PROCESS_EXIT, 0, 0),
							 process_record(6, IAPROF_PROCESS_EXISTING, 60, 0),
							 process_record(5, IAPROF_PROCESS_FORK, 0, 6),
							 process_record(5, IAPROF_PROCESS_EXEC, 51, 0) };
	ck_assert(process_names_take(&names, &records[0]));
	ck_assert(process_names_use(&names, 5, &first));
	ck_assert(process_names_take(&names, &records[1]));
	ck_assert(process_names_use(&names, 5, &second));
	ck_assert_uint_eq(first, second); /* told after it was over */
	ck_assert(process_names_take(&names, &records[2]));
	ck_assert(process_names_take(&names, &records[3]));
	ck_assert(process_names_use(&names, 5, &third));
	ck_assert_uint_ne(first, third);
	ck_assert_uint_eq(names.used[third].name, 60); /* its parent's */
	ck_assert(process_names_take(&names, &records[4]));
	ck_assert_uint_eq(names.used[first].name, 50);
	ck_assert_uint_eq(names.used[third].name, 51);
	process_names_free(&names);
}
END_TEST

START_TEST(processes_that_are_over_are_forgotten)
{
	struct process_names names = { 0 };
	uint32_t position;
	for (uint32_t pid = 1; pid <= 10 * PROCESSES_KNOWN_MAX; pid++) {
		struct iaprof_record_process born = process_record(pid, IAPROF_PROCESS_FORK, 7, 0);
		struct iaprof_record_process over = process_record(pid, IAPROF_PROCESS_EXIT, 0, 0);
		if (!process_names_take(&names, &born) || (pid > 10 && !process_names_take(&names, &over)))
			ck_abort_msg("out of memory");
	}
	ck_assert_uint_le(names.known_count, PROCESSES_KNOWN_MAX);
	ck_assert(process_names_use(&names, 3, &position));
	ck_assert_uint_eq(names.used[position].name, 7); /* it still runs */
	process_names_free(&names);
}
END_TEST

static void take_process(struct process_names *names, uint32_t pid, uint32_t event)
{
	struct iaprof_record_process record = process_record(pid, event, event == IAPROF_PROCESS_EXIT ? 0 : 7, 0);
	if (!process_names_take(names, &record))
		ck_abort_msg("out of memory");
}

/* Each walk over all of them makes room for an eighth, so there is no more than one for as many new ones. */
START_TEST(processes_are_forgotten_many_at_once)
{
	struct process_names names = { 0 };
	uint32_t position, next = PROCESSES_KNOWN_MAX + 1;
	for (uint32_t pid = 1; pid <= PROCESSES_KNOWN_MAX; pid++)
		take_process(&names, pid, IAPROF_PROCESS_FORK);
	for (uint32_t pid = 1; pid < PROCESSES_OVER_MIN; pid++)
		for (int twice = 0; twice < 2; twice++)
			take_process(&names, pid, IAPROF_PROCESS_EXIT);
	take_process(&names, 1, IAPROF_PROCESS_FORK); /* it runs again */
	take_process(&names, PROCESSES_OVER_MIN, IAPROF_PROCESS_EXIT);
	ck_assert_uint_eq(names.over_count, PROCESSES_OVER_MIN - 1);
	/* Too few are over: new ones are not known, and none is forgotten. */
	const struct item_slot *slots = names.index.slots;
	for (uint32_t i = 0; i < 150000; i++)
		take_process(&names, next + i, IAPROF_PROCESS_FORK);
	ck_assert(process_names_use(&names, next, &position));
	ck_assert_uint_eq(position, PROCESS_NONE);
	ck_assert_ptr_eq(names.index.slots, slots);
	ck_assert_uint_eq(names.known_count, PROCESSES_KNOWN_MAX);
	ck_assert_uint_eq(names.over_count, PROCESSES_OVER_MIN - 1);
	take_process(&names, 1, IAPROF_PROCESS_EXIT);
	take_process(&names, next, IAPROF_PROCESS_FORK);
	ck_assert_uint_eq(names.known_count, PROCESSES_KNOWN_MAX - PROCESSES_OVER_MIN + 1);
	ck_assert_uint_eq(names.over_count, 0);
	ck_assert(process_names_use(&names, next, &position));
	ck_assert_uint_ne(position, PROCESS_NONE);
	process_names_free(&names);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("page timeline");
	TCase *test_case = tcase_create("page timeline");
	tcase_set_timeout(test_case, 120);
	tcase_add_checked_fixture(test_case, setup, teardown);
	tcase_add_test(test_case, memory_has_a_bound_and_sums_are_whole);
	tcase_add_test(test_case, slots_are_right_in_any_order);
	tcase_add_test(test_case, the_largest_track_is_merged_first);
	tcase_add_test(test_case, sums_of_calls_are_spread);
	tcase_add_test(test_case, too_many_tracks_are_one_of_their_kind);
	tcase_add_test(test_case, an_id_that_is_used_again_is_another_process);
	tcase_add_test(test_case, processes_that_are_over_are_forgotten);
	tcase_add_test(test_case, processes_are_forgotten_many_at_once);
	suite_add_tcase(suite, test_case);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
