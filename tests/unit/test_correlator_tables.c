/* SPDX-License-Identifier: Apache-2.0 */
/* The correlator's tables by themselves: who was busy, instruction bases, launches of kernels, and split. */
#include <check.h>
#include <stdlib.h>

#include "base/clock.h"
#include "correlator/device_activity.h"
#include "correlator/code_locations.h"
#include "correlator/instruction_bases.h"
#include "correlator/kernels.h"
#include "correlator/launch_history.h"
#include "correlator/proportional_split.h"
#include "correlator/sampled_devices.h"
#include "../run_suite.h"

#define SECOND NANOSECONDS_PER_SECOND

/* Who was busy */

static struct device_activity activity;
static struct busy_processes busy;

static void be_busy(uint32_t pid, uint32_t kind, uint32_t label, uint64_t begin, uint64_t end, uint64_t time)
{
	struct iaprof_record_device_activity record = { .header = { .time = end, .source = 3 },
							.begin = begin,
							.busy = time,
							.device = 1,
							.pid = pid,
							.kind = kind,
							.label = label };
	device_activity_take(&activity, &record);
}

/* How long a process was busy between two times, in ns; -1: it is not among the busy ones. */
static double busy_time(uint32_t pid, uint64_t begin, uint64_t end)
{
	device_activity_find(&activity, 3, 1, begin, end, &busy);
	for (size_t i = 0; i < busy.count; i++)
		if (busy.items[i].pid == pid)
			return busy.items[i].busy;
	return -1;
}

TEST(busy_time_is_spread_evenly)
{
	be_busy(10, 1, 7, 100, 200, 50);
	be_busy(11, 1, 0, 150, 250, 100);
	ck_assert_double_eq(busy_time(10, 0, 1000), 50);
	ck_assert_uint_eq(busy.count, 2);
	ck_assert(!busy.more);
	ck_assert_double_eq(busy_time(10, 100, 200), 50);
	ck_assert_double_eq(busy_time(10, 100, 150), 25);
	ck_assert_double_eq(busy_time(10, 180, 1000), 10);
	ck_assert_double_eq(busy_time(10, 120, 140), 10);
	ck_assert_double_eq(busy_time(11, 120, 170), 20);
	ck_assert_double_eq(busy_time(10, 200, 300), -1);
	ck_assert_double_eq(busy_time(10, 0, 100), -1);
	ck_assert_double_eq(busy_time(11, 0, 1), -1);
	/* An instant counts whole, also at the ends of the interval. */
	be_busy(12, 1, 0, 160, 160, 5);
	ck_assert_double_eq(busy_time(12, 160, 170), 5);
	ck_assert_double_eq(busy_time(12, 150, 160), 5);
	ck_assert_double_eq(busy_time(12, 161, 170), -1);
	/* Records of a process add up, and its label is kept. */
	be_busy(10, 1, 0, 200, 300, 100);
	ck_assert_double_eq(busy_time(10, 150, 250), 25 + 50);
	for (size_t i = 0; i < busy.count; i++)
		ck_assert_uint_eq(busy.items[i].label, busy.items[i].pid == 10 ? 7 : 0);
	/* It is not known who kept another device, or one of another source, busy. */
	device_activity_find(&activity, 4, 1, 0, 1000, &busy);
	ck_assert_uint_eq(busy.count, 0);
	device_activity_find(&activity, 3, 2, 0, 1000, &busy);
	ck_assert_uint_eq(busy.count, 0);
}

TEST(the_most_trusted_kind_counts)
{
	be_busy(10, 2, 0, 100, 200, 50);
	be_busy(11, 1, 0, 150, 250, 100);
	be_busy(12, 2, 0, 150, 250, 100);
	ck_assert_double_eq(busy_time(11, 160, 200), 40);
	ck_assert_uint_eq(busy.count, 1);
	ck_assert_uint_eq(busy.kind, 1);
	ck_assert_double_eq(busy_time(10, 100, 140), 20);
	ck_assert_uint_eq(busy.kind, 2);
	device_activity_find(&activity, 3, 1, 500, 600, &busy);
	ck_assert_uint_eq(busy.kind, UINT32_MAX);
}

TEST(of_too_many_the_busiest_stay)
{
	/* The newest are looked at first. */
	for (uint32_t i = BUSY_PROCESSES_MAX + 1; i > 0; i--)
		be_busy(i, 1, 0, 100, 200, i);
	for (uint32_t i = 1; i <= BUSY_PROCESSES_MAX + 1; i++)
		ck_assert_double_eq(busy_time(i, 100, 200), i == 1 ? -1.0 : (double)i);
	ck_assert_uint_eq(busy.count, BUSY_PROCESSES_MAX);
	ck_assert(busy.more);
}

/* Wherever the one that was busy for the shortest time is among them. */
TEST_LOOP(the_least_busy_makes_room, 0, 4)
{
	uint32_t least = (uint32_t[]){ 1, 2, 3, BUSY_PROCESSES_MAX }[_i];
	be_busy(1000, 1, 0, 100, 200, 50);
	for (uint32_t i = BUSY_PROCESSES_MAX; i > 0; i--)
		be_busy(i, 1, 0, 100, 200, i == least ? 10 : 20 + i % 3);
	ck_assert_double_eq(busy_time(1000, 100, 200), 50);
	for (uint32_t i = 1; i <= BUSY_PROCESSES_MAX; i++)
		ck_assert_double_eq(busy_time(i, 100, 200), i == least ? -1.0 : 20 + i % 3);
	ck_assert(busy.more);
}

TEST(old_activity_is_forgotten)
{
	be_busy(10, 1, 0, 100, 200, 100);
	be_busy(11, 1, 0, 100, 201, 101);
	be_busy(12, 1, 0, 100, 199, 99);
	device_activity_forget(&activity, 200);
	ck_assert_double_eq(busy_time(10, 100, 200), 100);
	ck_assert_double_eq(busy_time(11, 100, 201), 101);
	ck_assert_double_eq(busy_time(12, 100, 200), -1);
	device_activity_forget(&activity, 202);
	ck_assert_uint_eq(activity.entries.count, 0);
	ck_assert(!busy.more);
}

/* Records of a time come at most a second after those of a later one. */
TEST(records_may_be_a_second_late)
{
	be_busy(10, 1, 0, 4 * SECOND, 5 * SECOND, SECOND);
	be_busy(11, 1, 0, 3 * SECOND - 1, 4 * SECOND - 1, SECOND);
	be_busy(12, 1, 0, 4 * SECOND, 4 * SECOND, SECOND);
	ck_assert_double_gt(busy_time(10, 5 * SECOND - 10, 6 * SECOND), 0);
	ck_assert_double_gt(busy_time(12, 3 * SECOND, 4 * SECOND), 0);
	ck_assert_double_gt(busy_time(11, 3 * SECOND, 4 * SECOND), 0);
}

/* More than there is room for: the older half goes, and it is known since when something is missing. */
TEST(too_many_records_are_counted)
{
	enum { ROOM = 262144 };
	for (uint64_t i = 1; i <= ROOM; i++)
		be_busy(10, 1, 0, i, i, 1);
	ck_assert_uint_eq(activity.dropped, 0);
	be_busy(11, 1, 0, ROOM + 1, ROOM + 1, 1);
	ck_assert_uint_eq(activity.dropped, ROOM / 2);
	ck_assert_uint_eq(activity.dropped_until, ROOM / 2);
	ck_assert_uint_eq(activity.entries.count, ROOM / 2 + 1);
	ck_assert_double_eq(busy_time(10, ROOM / 2 - 1, ROOM + 1), ROOM / 2);
	ck_assert(busy.more);
	ck_assert_double_eq(busy_time(11, ROOM / 2, ROOM + 1), 1);
	ck_assert(!busy.more);
}

/* Instruction bases */

static struct instruction_bases bases;

#define GIB4 (UINT64_C(1) << 32)

/* base: 0 not reported. */
static void bases_add(uint32_t pid, uint64_t base, uint64_t address, uint64_t time, uint64_t ended)
{
	instruction_bases_add(&bases, pid, (struct instruction_base){ .address = base }, address, time, ended);
}

TEST(bases_are_of_their_processes)
{
	bases_add(10, 5 * GIB4, 5 * GIB4 + 0x1000, 1, UINT64_MAX);
	ck_assert(instruction_bases_has(&bases, 10, 5 * GIB4));
	ck_assert(!instruction_bases_has(&bases, 11, 5 * GIB4));
	ck_assert_ptr_null(instruction_bases_find(&bases, 11));
	/* A base that is said counts when its code is within 4 GiB behind it. */
	bases_add(11, 7 * GIB4 + 0x1000, 8 * GIB4 + 0xfff, 1, UINT64_MAX);
	ck_assert(instruction_bases_has(&bases, 11, 7 * GIB4 + 0x1000));
	bases_add(14, 7 * GIB4, 7 * GIB4, 1, UINT64_MAX);
	ck_assert(instruction_bases_has(&bases, 14, 7 * GIB4));
	ck_assert_uint_eq(bases.incomplete, 0);
	ck_assert_uint_eq(bases.distinct_count, 3);
	ck_assert_uint_eq(bases.refused, 0);
}

TEST(a_base_that_cannot_reach_the_code_is_none)
{
	const uint64_t wrong[] = { 0, 7 * GIB4 + 0x1000, 7 * GIB4 + 0x2001, 6 * GIB4 + 0x1fff };
	for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		bases_add(10 + i, wrong[i], i == 1 ? 8 * GIB4 + 0x1000 : 7 * GIB4 + 0x2000, 1,
			  i == 3 ? 50 : UINT64_MAX);
		const struct process_bases *found = instruction_bases_find(&bases, 10 + i);
		ck_assert(found && found->is_incomplete);
		ck_assert_uint_eq(found->count, 0);
		ck_assert_uint_eq(bases.incomplete, i + 1);
	}
	/* It stays so, because its other code may be meant. */
	bases_add(10, 7 * GIB4, 7 * GIB4 + 0x2000, 2, UINT64_MAX);
	ck_assert(instruction_bases_find(&bases, 10)->is_incomplete);
	instruction_bases_forget(&bases, 60);
	ck_assert_uint_eq(bases.incomplete, 3);
}

TEST(bases_are_bounded)
{
	for (uint64_t i = 1; i <= INSTRUCTION_BASES_OF_PROCESS_MAX + 1; i++)
		bases_add(10, i * GIB4, i * GIB4, 1, UINT64_MAX);
	ck_assert_uint_eq(instruction_bases_find(&bases, 10)->count, INSTRUCTION_BASES_OF_PROCESS_MAX);
	ck_assert_uint_eq(bases.refused, 1);
	bases_add(10, GIB4, GIB4 + 5, 1, UINT64_MAX);
	ck_assert_uint_eq(bases.refused, 1);
	for (uint32_t i = 3; i <= INSTRUCTION_BASES_MAX; i++)
		bases_add(100 + i, i * GIB4, i * GIB4, 1, UINT64_MAX);
	ck_assert_uint_eq(bases.refused, 1);
	ck_assert_uint_eq(bases.distinct_count, INSTRUCTION_BASES_MAX);
	bases_add(20, 1000 * GIB4, 1000 * GIB4, 1, UINT64_MAX);
	ck_assert_uint_eq(bases.refused, 2);
	ck_assert(!instruction_bases_has(&bases, 20, 1000 * GIB4));
	bases_add(21, GIB4, GIB4, 1, UINT64_MAX);
	ck_assert(instruction_bases_has(&bases, 21, GIB4));
}

TEST(bases_go_some_time_after_their_process)
{
	bases_add(10, GIB4, GIB4, 5, UINT64_MAX);
	bases_add(11, GIB4, GIB4, 5, UINT64_MAX);
	bases_add(12, 2 * GIB4, 2 * GIB4, 5, 50);
	instruction_bases_end_process(&bases, 99, 10);
	instruction_bases_end_process(&bases, 10, 4); /* the one before it, which had this pid */
	instruction_bases_forget(&bases, 50);
	ck_assert(instruction_bases_has(&bases, 10, GIB4));
	ck_assert(instruction_bases_has(&bases, 12, 2 * GIB4));
	instruction_bases_end_process(&bases, 10, 40);
	instruction_bases_end_process(&bases, 10, 90); /* it has ended */
	instruction_bases_forget(&bases, 40);
	ck_assert(instruction_bases_has(&bases, 10, GIB4));
	instruction_bases_forget(&bases, 41);
	ck_assert_ptr_null(instruction_bases_find(&bases, 10));
	ck_assert(instruction_bases_has(&bases, 11, GIB4));
	ck_assert_uint_eq(bases.distinct_count, 2);
	ck_assert_uint_eq(bases.distinct[0].processes, 1);
	instruction_bases_forget(&bases, 51);
	ck_assert_ptr_null(instruction_bases_find(&bases, 12));
	ck_assert_uint_eq(bases.distinct_count, 1);
	ck_assert_uint_eq(bases.ended, 0);
	/* A new program with the pid of one that ended. */
	instruction_bases_end_process(&bases, 11, 60);
	bases_add(11, 3 * GIB4, 3 * GIB4, 70, UINT64_MAX);
	instruction_bases_forget(&bases, 1000);
	ck_assert(instruction_bases_has(&bases, 11, 3 * GIB4));
	ck_assert_uint_eq(bases.ended, 0);
	/* A location is used again. */
	size_t locations = bases.items.count;
	bases_add(13, 4 * GIB4, 4 * GIB4, 70, UINT64_MAX);
	bases_add(14, 4 * GIB4, 4 * GIB4, 70, UINT64_MAX);
	ck_assert_uint_eq(bases.items.count, locations);
	ck_assert(instruction_bases_has(&bases, 13, 4 * GIB4) && instruction_bases_has(&bases, 14, 4 * GIB4));
}

/* Launches of kernels */

static struct kernels kernels;

static void add_kernel(uint32_t id, uint32_t pid, uint32_t name, uint64_t address, uint64_t time, uint64_t ended)
{
	struct iaprof_record_kernel record = {
		.header = { .time = time, .source = 2 }, .id = id, .pid = pid, .name = name, .address = address
	};
	kernels_add(&kernels, &record, ended);
}

static bool launch(uint32_t id, uint32_t launch_stack, uint64_t count, uint64_t from, uint64_t to)
{
	struct kernel_launches launches = {
		.first_time = from, .last_time = to, .count = count, .launch_stack = launch_stack
	};
	return kernels_add_launches(&kernels, 2, id, &launches);
}

static void add_sized(uint32_t id, uint64_t address, uint64_t size, uint64_t time)
{
	struct iaprof_record_kernel record = { .header = { .time = time, .source = 2 },
					       .id = id,
					       .pid = 10,
					       .name = id,
					       .address = address,
					       .size = size };
	kernels_add(&kernels, &record, UINT64_MAX);
}

/* The name of the kernel of process 10 around an address; 0: none. */
static uint32_t around(uint64_t address, uint64_t time)
{
	uint32_t kernel = kernels_around(&kernels, 10, address, time);
	return kernel == KERNEL_NONE ? 0 : kernels.items.items[kernel].key.name;
}

TEST(kernels_are_found_by_their_ranges)
{
	ck_assert_uint_eq(kernels_around(&kernels, 10, 0x1000, 10), KERNEL_NONE);
	add_sized(1, 0x1000, 0x100, 10);
	add_sized(2, 0x3000, 0, 10);
	add_sized(3, UINT64_MAX - 8, 16, 10);
	ck_assert_uint_eq(around(0xfff, 20), 0);
	ck_assert_uint_eq(around(0x1000, 20), 1);
	ck_assert_uint_eq(around(0x10ff, 20), 1);
	ck_assert_uint_eq(around(0x1100, 20), 0);
	ck_assert_uint_eq(around(0x1000, 9), 0);
	ck_assert_uint_eq(around(0x1000, 10), 1);
	ck_assert_uint_eq(around(0x3000, 20), 0);
	ck_assert_uint_eq(around(UINT64_MAX - 4, 20), 0);
	/* Announced again with a size, and over others. */
	add_sized(4, 0x1080, 0x10, 30);
	add_sized(5, 0xf00, 0x1000, 40);
	ck_assert_uint_eq(around(0x1088, 29), 1);
	ck_assert_uint_eq(around(0x1088, 39), 4);
	ck_assert_uint_eq(around(0x1088, 40), 5);
	ck_assert_uint_eq(around(0x1090, 39), 1);
	ck_assert_uint_eq(around(0x1eff, 40), 5);
	ck_assert_uint_eq(kernels_around(&kernels, 11, 0x1088, 40), KERNEL_NONE);
	kernels_end_process(&kernels, 10, 50);
	kernels_forget(&kernels, 60);
	ck_assert_uint_eq(around(0x1088, 40), 0);
	kernels_free(&kernels);
	kernels = (struct kernels){ 0 };
}

/* The share of a launch_stack in what a kernel of process 10 at address 0x1000 did; 0: none. */
static double share_of(uint32_t launch_stack, uint64_t begin, uint64_t end, bool is_in_time)
{
	const struct kernel_share *shares;
	bool in_time;
	size_t count = kernels_shares(&kernels, kernels_at(&kernels, 10, 0x1000, 5), begin, end, CODE_LIFE_ANY, &shares,
				      &in_time);
	ck_assert_int_eq(in_time, is_in_time);
	double found = 0;
	for (size_t i = 0; i < count; i++) {
		ck_assert_double_gt(shares[i].weight, 0);
		ck_assert(!i || shares[i - 1].launch_stack < shares[i].launch_stack);
		found = shares[i].launch_stack == launch_stack ? shares[i].weight : found;
	}
	return found;
}

TEST(kernels_are_by_process_place_and_name)
{
	add_kernel(1, 10, 5, 0x1000, 1, UINT64_MAX);
	add_kernel(2, 10, 5, 0x1000, 2, UINT64_MAX); /* loaded again */
	add_kernel(3, 10, 6, 0x1000, 1, UINT64_MAX);
	add_kernel(4, 10, 0, 0x2000, 1, UINT64_MAX);
	add_kernel(5, 11, 5, 0x1000, 1, UINT64_MAX);
	add_kernel(5, 12, 5, 0x1000, 1, UINT64_MAX); /* the id is in use */
	add_kernel(0, 12, 5, 0x1000, 1, UINT64_MAX); /* none */
	ck_assert_uint_eq(kernels_of_process(&kernels, 12), KERNEL_NONE);
	ck_assert_uint_eq(kernels_at(&kernels, 12, 0x1000, 5), KERNEL_NONE);
	uint32_t first = kernels_at(&kernels, 10, 0x1000, 5);
	ck_assert_uint_ne(first, KERNEL_NONE);
	ck_assert_uint_ne(kernels_at(&kernels, 10, 0x1000, 6), first);
	ck_assert_uint_eq(kernels_at(&kernels, 10, 0x1000, 7), KERNEL_NONE);
	ck_assert_uint_ne(kernels_at(&kernels, 10, 0x2000, 7), KERNEL_NONE); /* one without a name may be any */
	ck_assert_uint_ne(kernels_at(&kernels, 11, 0x1000, 5), first);
	size_t count = 0;
	for (uint32_t i = kernels_of_process(&kernels, 10); i != KERNEL_NONE; i = kernels.items.items[i].next, count++)
		ck_assert_uint_eq(kernels.items.items[i].key.pid, 10);
	ck_assert_uint_eq(count, 3);
	ck_assert_uint_eq(kernels.items.items[first].announced, 2);
	ck_assert(launch(1, 100, 1, 5, 5) && launch(2, 100, 1, 6, 6));
	ck_assert_double_eq(share_of(100, 5, 6, true), 2);
	ck_assert(!kernels_are_seen_launched(&kernels, 11));
}

/* Division */

static struct proportional_split split;

static void add_target(uint32_t launch_stack, uint32_t location, double weight)
{
	ck_assert(proportional_split_add(
		&split, &(struct device_stack_key){ .launch_stack = launch_stack, .location = location }, weight));
}

/* Balances of so many stacks are remembered; with more, all are reset. */
TEST(balances_are_bounded)
{
	enum { ROOM = 65536 };
	for (uint32_t i = 0; i < ROOM; i++) {
		proportional_split_begin(&split);
		ck_assert_uint_eq(split.balances.count, i);
		add_target(i + 1, 1, 1);
	}
	add_target(1, 2, 1);
	ck_assert_uint_eq(split.balances.count, ROOM);
	proportional_split_begin(&split);
	ck_assert_uint_eq(split.balances.count, 0);
	add_target(5, 1, 1);
	add_target(6, 1, 3);
	proportional_split_divide(&split, 4);
	ck_assert_uint_eq(split.targets.items[0].part, 1);
	ck_assert_uint_eq(split.targets.items[1].part, 3);
}

/* Addresses of unknown code are distinguished up to a limit; further ones are merged, whatever their device. */
TEST(unknown_places_are_bounded)
{
	enum { ROOM = 16384 };
	struct frame_table frames = { 0 };
	struct code_locations locations = { .intern = intern_new(NULL), .frames = &frames };
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < ROOM; i++)
			ck_assert_uint_eq(code_locations_find_unknown(&locations, 1 + i % 2, 0x10 * i, 0), i);
		uint32_t rest = code_locations_find_unknown(&locations, 1, 7, 0);
		ck_assert_uint_eq(rest, ROOM);
		ck_assert_uint_eq(code_locations_find_unknown(&locations, 1, 8, 0), rest);
		ck_assert_uint_eq(code_locations_find_unknown(&locations, 2, 7, 0), rest);
		ck_assert_uint_eq(code_locations_find_unknown(&locations, 2, 0x10, 0), 1);
		ck_assert_uint_eq(locations.items.items[rest].offset, FRAME_NONE);
		ck_assert_uint_eq(locations.items.items[rest].count, 1);
		uint32_t labelled =
			code_locations_find_unknown(&locations, 1, 7, intern_text_id(locations.intern, "copy"));
		ck_assert_uint_eq(labelled, ROOM + 1);
		const struct iaprof_frame *frame =
			&frames.frames.items[locations.frame_ids.items[locations.items.items[labelled].first]];
		ck_assert_str_eq(frame->name, "copy");
		ck_assert_uint_eq(frame->flags, IAPROF_FRAME_UNKNOWN);
		code_locations_clear(&locations);
	}
	code_locations_free(&locations);
	frame_table_free(&frames);
	intern_free(locations.intern);
}

/* Devices */

/* So many counters of devices are looked at; a value is of its source's counter. */
TEST(counters_of_devices_are_bounded)
{
	enum { ROOM = 4096 };
	struct sampled_devices devices = { .intern = intern_new(NULL) };
	for (uint32_t id = 1; id <= ROOM + 1; id++) {
		struct iaprof_record_counter counter = { .header = { .source = 3, .size = sizeof counter },
							 .id = id,
							 .device = 1 + id % 2,
							 .role = IAPROF_COUNTER_ROLE_ROWS };
		sampled_devices_take_counter(&devices, &counter);
	}
	ck_assert_uint_eq(devices.counters.count, ROOM);
	for (uint32_t id = 1; id <= 2; id++) {
		struct iaprof_record_counter_value value = { .header.source = 3, .counter = id, .value = 10 * id };
		sampled_devices_take_counter_value(&devices, &value);
		value.header.source = 4;
		value.value = 7;
		sampled_devices_take_counter_value(&devices, &value);
	}
	ck_assert_uint_eq(devices.items.count, 2);
	ck_assert_uint_eq(sampled_devices_find(&devices, 3, 2)->samples.rows, 10);
	ck_assert_uint_eq(sampled_devices_find(&devices, 3, 1)->samples.rows, 20);
	struct intern *intern = devices.intern;
	sampled_devices_free(&devices);
	intern_free(intern);
}

TEST(stall_reasons_have_the_first_name_of_their_number)
{
	struct sampled_devices devices = { .intern = intern_new(NULL) };
	ck_assert_str_eq(sampled_devices_reason(&devices, 3, 7).name, "reason 7");
	ck_assert_uint_eq(sampled_devices_reason(&devices, 3, 7).flags, 0);
	struct iaprof_record_stall_reason reason = { .header = { .source = 3, .size = sizeof reason },
						     .id = 7,
						     .flags = IAPROF_STALL_REASON_WAITS,
						     .stall_class = IAPROF_STALL_DATA,
						     .name = intern_text_id(devices.intern, "sbid") };
	sampled_devices_take_reason(&devices, &reason);
	reason.name = intern_text_id(devices.intern, "other");
	sampled_devices_take_reason(&devices, &reason);
	ck_assert_str_eq(sampled_devices_reason(&devices, 3, 7).name, "sbid");
	ck_assert_uint_eq(sampled_devices_reason(&devices, 3, 7).flags, IAPROF_STALL_REASON_WAITS);
	ck_assert_uint_eq(sampled_devices_reason(&devices, 3, 7).stall_class, IAPROF_STALL_DATA);
	ck_assert_str_eq(sampled_devices_reason(&devices, 4, 7).name, "reason 7");
	/* A record of an older release, without flags. */
	reason.id = 8;
	reason.header.size = offsetof(struct iaprof_record_stall_reason, flags);
	sampled_devices_take_reason(&devices, &reason);
	ck_assert_str_eq(sampled_devices_reason(&devices, 3, 8).name, "other");
	ck_assert_uint_eq(sampled_devices_reason(&devices, 3, 8).flags, 0);
	ck_assert_uint_eq(sampled_devices_reason(&devices, 3, 8).stall_class, IAPROF_STALL_UNKNOWN);
	for (uint32_t i = 0; i < 5000; i++) {
		reason.id = i;
		reason.header.source = 9;
		sampled_devices_take_reason(&devices, &reason);
	}
	ck_assert_uint_eq(devices.reasons.count, 4096);
	struct intern *intern = devices.intern;
	sampled_devices_free(&devices);
	intern_free(intern);
}

static void set_up(void)
{
	activity = (struct device_activity){ 0 };
	bases = (struct instruction_bases){ 0 };
	kernels = (struct kernels){ 0 };
	split = (struct proportional_split){ 0 };
	busy = (struct busy_processes){ 0 };
}

static void tear_down(void)
{
	device_activity_free(&activity);
	instruction_bases_free(&bases);
	kernels_free(&kernels);
	proportional_split_free(&split);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
