/* SPDX-License-Identifier: Apache-2.0 */
/* When values were added: nothing is lost or made up, however wide the slots become. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "collector_records.h"
#include "profile/time_table.h"
#include "../run_suite.h"

#define MILLISECOND UINT64_C(1000000)
#define SLOT (20 * MILLISECOND)

static struct time_table table;

static void set_up(void)
{
	table = (struct time_table){ .resolution = SLOT };
}

static void tear_down(void)
{
	ck_assert_uint_eq(table.out_of_memory, 0);
	time_table_free(&table);
}

/* What is in the slots of a time, of a stack. */
static uint64_t sum_between(const struct time_sums *sums, uint32_t stack, uint64_t begin, uint64_t end)
{
	uint64_t width = time_sums_width(&table, sums), sum = 0;
	for (size_t i = 0; i < sums->items.count; i++) {
		const struct iaprof_time_value *item = &sums->items.items[i];
		if (item->stack == stack && item->time * width >= begin && item->time * width < end)
			sum += item->value;
	}
	return sum;
}

TEST(values_are_in_their_slots)
{
	time_table_add(&table, 7, 0, SECOND, SECOND + SLOT - 1, 5);
	time_table_add(&table, 7, 0, SECOND + SLOT - 1, SECOND + SLOT - 1, 6);
	time_table_add(&table, 7, 0, SECOND + SLOT, SECOND + SLOT, 7);
	time_table_add(&table, 8, 0, SECOND, SECOND, 100);
	time_table_add(&table, 7, 1, SECOND, SECOND, 1000);
	ck_assert_uint_eq(table.stacks.items.count, 4);
	ck_assert_uint_eq(sum_between(&table.stacks, 7, SECOND, SECOND + SLOT), 5 + 6 + 1000);
	ck_assert_uint_eq(sum_between(&table.stacks, 7, SECOND + SLOT, SECOND + 2 * SLOT), 7);
	ck_assert_uint_eq(sum_between(&table.stacks, 8, SECOND, SECOND + SLOT), 100);
	ck_assert_uint_eq(sum_between(&table.totals, UINT32_MAX, SECOND, SECOND + SLOT), 5 + 6 + 100 + 1000);
	ck_assert_uint_eq(table.added_up_over.items[0], SLOT - 1);
}

TEST(values_of_unknown_times_are_in_none)
{
	time_table_add(&table, 7, 0, 0, 0, 5);
	time_table_add(&table, 7, 0, 2 * SECOND, SECOND, 5);
	table.resolution = 0;
	time_table_add(&table, 7, 0, SECOND, SECOND, 5);
	ck_assert_uint_eq(table.stacks.items.count + table.totals.items.count, 0);
}

/* As even as whole numbers can be. */
TEST_LOOP(long_values_are_divided, 0, 7)
{
	static const uint64_t values[] = { 1, 2, 49, 50, 51, 1000003, UINT64_MAX };
	uint64_t value = values[_i], least = UINT64_MAX, most = 0, sum = 0;
	time_table_add(&table, 7, 0, SECOND, 2 * SECOND, value);
	for (size_t i = 0; i < table.stacks.items.count; i++) {
		uint64_t slot = table.stacks.items.items[i].value;
		least = slot < least ? slot : least;
		most = slot > most ? slot : most;
		sum += slot;
	}
	ck_assert_uint_eq(sum, value);
	ck_assert_uint_eq(table.stacks.items.count, value < 50 ? value : 50);
	ck_assert(value < 50 ? most == 1 : most - least <= 1);
	ck_assert_uint_eq(sum_between(&table.stacks, 7, SECOND, 2 * SECOND), value);
}

TEST(slots_get_what_was_added_in_them)
{
	time_table_add(&table, 7, 0, SECOND + SLOT / 2, SECOND + 2 * SLOT + SLOT / 4, 700);
	ck_assert_uint_eq(sum_between(&table.stacks, 7, SECOND, SECOND + SLOT), 200);
	ck_assert_uint_eq(sum_between(&table.stacks, 7, SECOND + SLOT, SECOND + 2 * SLOT), 400);
	ck_assert_uint_eq(sum_between(&table.stacks, 7, SECOND + 2 * SLOT, SECOND + 3 * SLOT), 100);
	/* One nanosecond in the next slot, and none. */
	time_table_add(&table, 8, 0, SECOND, SECOND + SLOT + 1, SLOT + 1);
	ck_assert_uint_eq(sum_between(&table.stacks, 8, SECOND, SECOND + SLOT), SLOT);
	ck_assert_uint_eq(sum_between(&table.stacks, 8, SECOND + SLOT, SECOND + 2 * SLOT), 1);
	time_table_add(&table, 9, 0, SECOND, SECOND + SLOT, SLOT);
	ck_assert_uint_eq(sum_between(&table.stacks, 9, SECOND, SECOND + SLOT), SLOT);
}

TEST(small_values_are_not_all_in_the_last_slot)
{
	for (int i = 0; i < 1000; i++)
		time_table_add(&table, 7, 0, SECOND, SECOND + 10 * SLOT, 1);
	for (uint64_t i = 0; i < 10; i++) {
		uint64_t sum = sum_between(&table.stacks, 7, SECOND + i * SLOT, SECOND + (i + 1) * SLOT);
		ck_assert_uint_ge(sum, 95);
		ck_assert_uint_le(sum, 105);
	}
	ck_assert_uint_eq(sum_between(&table.stacks, 7, SECOND, SECOND + 10 * SLOT), 1000);
}

TEST(a_value_is_in_a_bounded_number_of_slots)
{
	time_table_add(&table, 7, 0, 1, UINT64_MAX - 1, 1000000);
	ck_assert_uint_le(table.stacks.items.count, TIME_SLOTS_OF_VALUE_MAX);
	ck_assert_uint_eq(sum_between(&table.stacks, 7, 0, UINT64_MAX), 1000000);
}

/* An hour of one stack in room for 1,000 sums: as wide as needed, and each slot has what was added in it. */
TEST(slots_become_wider)
{
	const uint64_t count = 3600 * 50;
	uint64_t *expected = calloc(count, sizeof *expected), sum = 0;
	table.stacks.limit = 1000;
	srandom(1);
	for (uint64_t slot = 0; slot < count; slot++) {
		expected[slot] = (uint64_t)random() % 100 + 1;
		sum += expected[slot];
		time_table_add(&table, 7, 0, SECOND + slot * SLOT, SECOND + slot * SLOT, expected[slot]);
		ck_assert_uint_le(table.stacks.items.count, 1000);
	}
	uint64_t width = time_sums_width(&table, &table.stacks);
	ck_assert_uint_eq(table.stacks.limit, 1000);
	ck_assert_uint_eq(width, SLOT << 8); /* 180,000 slots are 703 of 256 */
	ck_assert_uint_eq(time_sums_width(&table, &table.totals), SLOT);
	ck_assert_uint_eq(sum_between(&table.stacks, 7, 0, UINT64_MAX), sum);
	for (uint64_t begin = SECOND / width * width; begin < 2000 * SECOND; begin += width) {
		uint64_t within = 0;
		for (uint64_t slot = 0; slot < count; slot++)
			if (SECOND + slot * SLOT >= begin && SECOND + slot * SLOT < begin + width)
				within += expected[slot];
		ck_assert_uint_eq(sum_between(&table.stacks, 7, begin, begin + width), within);
	}
	free(expected);
}

/* Many stacks, each seen a few times: memory is bounded by what is distinct. */
TEST(many_stacks_have_room)
{
	table.stacks.limit = table.totals.limit = 100;
	for (uint32_t stack = 0; stack < 1000; stack++)
		for (uint64_t slot = 0; slot < 5; slot++)
			time_table_add(&table, stack, 0, SECOND + slot * SLOT, SECOND + slot * SLOT, 3);
	ck_assert_uint_le(table.stacks.items.count, 2000);
	for (uint32_t stack = 0; stack < 1000; stack++)
		ck_assert_uint_eq(sum_between(&table.stacks, stack, 0, UINT64_MAX), 15);
	ck_assert_uint_eq(sum_between(&table.totals, UINT32_MAX, 0, UINT64_MAX), 15000);
}

/* As many slots as a value may have are used; of one that covers more, each takes two. */
TEST_LOOP(long_values_have_as_many_slots_as_they_may, 0, 2)
{
	uint64_t slots = TIME_SLOTS_OF_VALUE_MAX + (uint64_t)_i, value = slots * 10;
	time_table_add(&table, 7, 0, SECOND, SECOND + slots * SLOT, value);
	ck_assert_uint_eq(table.stacks.items.count, _i ? TIME_SLOTS_OF_VALUE_MAX / 2 + 1 : TIME_SLOTS_OF_VALUE_MAX);
	for (size_t i = 0; i < table.stacks.items.count; i++) {
		ck_assert_uint_eq(table.stacks.items.items[i].time, SECOND / SLOT + (_i ? 2 : 1) * i);
		bool is_last = i + 1 == table.stacks.items.count;
		ck_assert_uint_eq(table.stacks.items.items[i].value, _i && !is_last ? 20 : 10);
	}
	ck_assert_uint_eq(table.added_up_over.count, 1);
	ck_assert_uint_eq(table.added_up_over.items[0], slots * SLOT);
	time_table_add(&table, 7, 2, SECOND, SECOND + 5, 1);
	time_table_add(&table, 7, 2, SECOND, SECOND + 4, 1);
	ck_assert_uint_eq(table.added_up_over.count, 3);
	ck_assert_uint_eq(table.added_up_over.items[1], 0);
	ck_assert_uint_eq(table.added_up_over.items[2], 5);
}

/*
 * A device under constant load of one sample in 100 us, which is read about once a second, once after 3 seconds, in
 * slots of 20 ms and of 1 ms.
 */
TEST_LOOP(samples_of_a_constant_load_are_flat, 0, 2)
{
	static const uint64_t reads[] = { 0, 1030, 2137, 5137, 6200, 7290 }; /* ms */
	uint64_t width = _i ? MILLISECOND : SLOT, each = 10 * width / MILLISECOND;
	table.resolution = width;
	for (size_t i = 1; i < sizeof reads / sizeof *reads; i++)
		time_table_add_samples(&table, 7, 0, SECOND + reads[i - 1] * MILLISECOND,
				       SECOND + reads[i] * MILLISECOND, 10 * (reads[i] - reads[i - 1]));
	for (uint64_t begin = SECOND; begin + width <= SECOND + 7290 * MILLISECOND; begin += width) {
		uint64_t slot = sum_between(&table.stacks, 7, begin, begin + width);
		ck_assert_uint_ge(slot, each - 2); /* rounding of the values of one read or two */
		ck_assert_uint_le(slot, each + 2);
		ck_assert_uint_eq(sum_between(&table.totals, UINT32_MAX, begin, begin + width), slot);
	}
	ck_assert_uint_eq(sum_between(&table.stacks, 7, 0, UINT64_MAX), 72900);
	ck_assert_uint_eq(table.added_up_over.items[0], 3 * SECOND);
	time_table_add_samples(&table, 8, 0, 1, UINT64_MAX - 1, UINT64_MAX);
	ck_assert_uint_le(table.stacks.items.count, 7300 + TIME_SLOTS_OF_SAMPLES_MAX);
}

/* Nothing, and what is known of no time, takes no room; what begins and ends in the first slot has it. */
TEST(empty_values_are_in_no_slot)
{
	time_table_add(&table, 7, 0, SECOND, SECOND, 0);
	time_table_add(&table, 7, 0, 0, SECOND, 1);
	time_table_add(&table, 7, 0, SECOND, SECOND - 1, 1);
	ck_assert_uint_eq(table.stacks.items.count + table.added_up_over.count, 0);
	time_table_add(&table, 7, 0, 1, 1, 1);
	ck_assert_uint_eq(sum_between(&table.stacks, 7, 0, SLOT), 1);
}

/* Wider slots are a remedy when a quarter of the sums goes; else there is room for twice as many. */
TEST_LOOP(room_grows_where_wider_slots_do_not_help, 0, 2)
{
	enum { ROOM = 8 };
	/* Pairs of neighbours become one: as many sums are left as there is room for 3/4 of them, and one more. */
	uint32_t pairs = 2 - (uint32_t)_i;
	table.stacks.limit = ROOM;
	for (uint32_t i = 0; i < ROOM; i++) {
		uint64_t slot = 100 + (i < 2 * pairs ? i % 2 : 2 * (uint64_t)i);
		uint32_t stack = i < 2 * pairs ? 1 + i / 2 : 1 + i;
		time_table_add(&table, stack, 0, slot * SLOT, slot * SLOT, 3);
	}
	ck_assert_uint_eq(table.stacks.doublings, 0);
	ck_assert_uint_eq(table.stacks.items.count, ROOM);
	time_table_add(&table, 99, 0, SECOND, SECOND, 3);
	ck_assert_uint_eq(table.stacks.doublings, 1);
	ck_assert_uint_eq(table.stacks.limit, _i ? 2 * ROOM : ROOM);
	ck_assert_uint_eq(table.stacks.items.count, ROOM - pairs + 1);
	ck_assert_uint_eq(sum_between(&table.stacks, 1, 0, UINT64_MAX), 6);
}

/* There is an end to how wide slots become: then there are more of them. */
TEST(slots_are_hours_wide_at_most)
{
	table.resolution = 1 << 20;
	table.stacks.limit = 4;
	for (uint64_t next = 1; table.stacks.doublings < 20;) {
		unsigned before = table.stacks.doublings;
		time_table_add(&table, 7, 0, next << before << 20, next << before << 20, 1);
		next = table.stacks.doublings > before ? next / 2 + 1 : next + 1;
		ck_assert_uint_lt(next, 10);
	}
	ck_assert_uint_eq(table.stacks.limit, 4);
	for (uint64_t i = 100; i < 120; i++)
		time_table_add(&table, 7, 0, i << 40, i << 40, 1);
	ck_assert_uint_eq(table.stacks.doublings, 20);
	ck_assert_uint_ge(table.stacks.items.count, 20);
}

/* Samples of a program that ended long before the profile was asked for, and of one that runs. */
TEST(a_profile_has_the_times_of_its_samples)
{
	intern = intern_new(NULL);
	collector = collector_new(&(struct collector_options){ .intern = intern, .time_resolution = SLOT });
	take_cpu_type(0);
	take_process(10, IAPROF_PROCESS_EXISTING, "shell", 0);
	take_process(11, IAPROF_PROCESS_EXISTING, "editor", 0);
	for (uint64_t i = 0; i < 100; i++) {
		/* Two addresses of one unknown function: one stack in the end. */
		take_sample(10, 0x1000 + i % 2, 1 + i, SECOND + i * SLOT / 2);
		take_sample(11, 0x1000, 1000, SECOND + i * SLOT / 2);
	}
	take_process(10, IAPROF_PROCESS_EXIT, "", 3 * SECOND);
	for (uint64_t second = 4; second < 20; second++) {
		struct iaprof_record_sync record = { 0 };
		take(&record, IAPROF_RECORD_SYNC, sizeof record, second * SECOND);
	}
	collector_finish(collector);
	struct snapshot *interval = collector_snapshot(collector, false), *all = collector_snapshot(collector, true);
	const struct iaprof_profile *profile = &all->profile;
	ck_assert_uint_eq(interval->profile.time_count + interval->profile.time_total_count, 0);
	ck_assert_uint_eq(profile->time_width, SLOT);
	ck_assert_uint_eq(profile->total_width, SLOT);
	ck_assert_uint_eq(profile->time_total_count, 50);
	ck_assert_uint_eq(profile->time_count, 100); /* two stacks */
	for (size_t i = 0; i < profile->time_count; i++) {
		const struct iaprof_time_value *time = iaprof_profile_time(profile, i);
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, time->stack);
		const char *program = iaprof_profile_frame(profile, stack->frames[0])->name;
		uint64_t slot = (time->time - SECOND) / SLOT;
		ck_assert_uint_lt(slot, 50);
		ck_assert_uint_eq(time->time, SECOND + slot * SLOT);
		ck_assert_uint_eq(time->value, !strcmp(program, "shell") ? 4 * slot + 3 : 2000);
	}
	for (size_t i = 0; i < profile->time_total_count; i++) {
		const struct iaprof_time_value *time = iaprof_profile_time_total(profile, i);
		ck_assert_uint_eq(time->stack, UINT32_MAX);
		ck_assert_uint_eq(time->value, 4 * ((time->time - SECOND) / SLOT) + 3 + 2000);
	}
	snapshot_release(interval);
	snapshot_release(all);
	collector_free(collector);
	intern_free(intern);
}

/* Two processes are read in turn, once in a second each: each ms has as many samples of both. */
TEST(a_profile_has_flat_samples_of_a_device)
{
	intern = intern_new(NULL);
	collector = collector_new(
		&(struct collector_options){ .intern = intern, .live = true, .time_resolution = MILLISECOND });
	take_process(10, IAPROF_PROCESS_EXISTING, "train", 0);
	take_process(11, IAPROF_PROCESS_EXISTING, "infer", 0);
	struct {
		struct iaprof_record_stall_sample head;
		uint64_t counts[1];
	} record = { .head = { .begin = SECOND, .address = 0x1000, .device = 1, .pid = 10, .reason_count = 1 },
		     .counts = { 7000 } };
	take(&record, IAPROF_RECORD_STALL_SAMPLE, sizeof record, 2 * SECOND);
	record.head.pid = 11;
	record.head.begin += 10 * MILLISECOND;
	take(&record, IAPROF_RECORD_STALL_SAMPLE, sizeof record, 2 * SECOND + 10 * MILLISECOND);
	collector_finish(collector);
	struct snapshot *all = collector_snapshot(collector, true);
	const struct iaprof_profile *profile = &all->profile;
	ck_assert_uint_eq(profile->value_count, 2);
	ck_assert_uint_eq(profile->time_count, 2000);
	for (size_t i = 0; i < profile->time_count; i++)
		ck_assert_uint_eq(iaprof_profile_time(profile, i)->value, 7);
	ck_assert_uint_eq(iaprof_profile_value_type(profile, 0)->added_up_over, SECOND);
	snapshot_release(all);
	collector_free(collector);
	intern_free(intern);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
