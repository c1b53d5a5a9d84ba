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

/* What is known of a time is looked for up to a record that ended more than a second before it. */
TEST_LOOP(the_search_ends_a_second_before, 0, 2)
{
	be_busy(10, 1, 0, 9 * SECOND, 11 * SECOND, SECOND);
	be_busy(11, 1, 0, 8 * SECOND, 9 * SECOND - (unsigned)_i, SECOND);
	ck_assert_int_eq(busy_time(10, 10 * SECOND, 12 * SECOND) > 0, !_i);
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
	bases_add(10, 0, 5 * GIB4 + 0x1000, 1, UINT64_MAX);
	ck_assert(instruction_bases_has(&bases, 10, 5 * GIB4));
	ck_assert(!instruction_bases_has(&bases, 11, 5 * GIB4));
	ck_assert_ptr_null(instruction_bases_find(&bases, 11));
	/* A base that is said counts when its code is within 4 GiB behind it. */
	bases_add(11, 7 * GIB4 + 0x1000, 8 * GIB4 + 0xfff, 1, UINT64_MAX);
	ck_assert(instruction_bases_has(&bases, 11, 7 * GIB4 + 0x1000));
	bases_add(12, 7 * GIB4 + 0x1000, 8 * GIB4 + 0x1000, 1, UINT64_MAX);
	ck_assert(instruction_bases_has(&bases, 12, 8 * GIB4));
	bases_add(13, 7 * GIB4 + 0x1000, 7 * GIB4 + 0xfff, 1, UINT64_MAX);
	ck_assert(instruction_bases_has(&bases, 13, 7 * GIB4));
	bases_add(14, 7 * GIB4, 7 * GIB4, 1, UINT64_MAX);
	ck_assert(instruction_bases_has(&bases, 14, 7 * GIB4));
	ck_assert_uint_eq(bases.distinct_count, 4);
	ck_assert_uint_eq(bases.refused, 0);
}

TEST(bases_are_bounded)
{
	for (uint64_t i = 1; i <= INSTRUCTION_BASES_OF_PROCESS_MAX + 1; i++)
		bases_add(10, 0, i * GIB4, 1, UINT64_MAX);
	ck_assert_uint_eq(instruction_bases_find(&bases, 10)->count, INSTRUCTION_BASES_OF_PROCESS_MAX);
	ck_assert_uint_eq(bases.refused, 1);
	bases_add(10, 0, GIB4 + 5, 1, UINT64_MAX);
	ck_assert_uint_eq(bases.refused, 1);
	for (uint32_t i = 3; i <= INSTRUCTION_BASES_MAX; i++)
		bases_add(100 + i, 0, i * GIB4, 1, UINT64_MAX);
	ck_assert_uint_eq(bases.refused, 1);
	ck_assert_uint_eq(bases.distinct_count, INSTRUCTION_BASES_MAX);
	bases_add(20, 0, 1000 * GIB4, 1, UINT64_MAX);
	ck_assert_uint_eq(bases.refused, 2);
	ck_assert(!instruction_bases_has(&bases, 20, 1000 * GIB4));
	bases_add(21, 0, GIB4, 1, UINT64_MAX);
	ck_assert(instruction_bases_has(&bases, 21, GIB4));
}

TEST(bases_go_some_time_after_their_process)
{
	bases_add(10, 0, GIB4, 5, UINT64_MAX);
	bases_add(11, 0, GIB4, 5, UINT64_MAX);
	bases_add(12, 0, 2 * GIB4, 5, 50);
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
	bases_add(11, 0, 3 * GIB4, 70, UINT64_MAX);
	instruction_bases_forget(&bases, 1000);
	ck_assert(instruction_bases_has(&bases, 11, 3 * GIB4));
	ck_assert_uint_eq(bases.ended, 0);
	/* A location is used again. */
	size_t locations = bases.items.count;
	bases_add(13, 0, 4 * GIB4, 70, UINT64_MAX);
	bases_add(14, 0, 4 * GIB4, 70, UINT64_MAX);
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
	size_t count = kernels_shares(&kernels, kernels_at(&kernels, 10, 0x1000, 5), begin, end, &shares, &in_time);
	ck_assert_int_eq(in_time, is_in_time);
	double found = 0;
	for (size_t i = 0; i < count; i++) {
		ck_assert_double_gt(shares[i].weight, 0);
		ck_assert(!i || shares[i - 1].launch_stack < shares[i].launch_stack);
		found = shares[i].launch_stack == launch_stack ? shares[i].weight : found;
	}
	return found;
}

TEST(launches_of_an_interval_come_evenly)
{
	add_kernel(1, 10, 5, 0x1000, 1, UINT64_MAX);
	ck_assert(!kernels_are_seen_launched(&kernels, 10));
	ck_assert(launch(1, 100, 12, 1000, 2000));
	ck_assert(launch(1, 101, 1, 1500, 1700));
	ck_assert(launch(1, 100, 3, 3000, 3000));
	ck_assert(kernels_are_seen_launched(&kernels, 10));
	ck_assert(!launch(2, 100, 1, 1, 1));
	/* The first and the last are known, ten came between them. */
	ck_assert_double_eq(share_of(100, 1000, 2000, true), 12);
	ck_assert_double_eq(share_of(100, 0, 2500, true), 12);
	ck_assert_double_eq(share_of(100, 0, 5000, true), 15);
	ck_assert_double_eq(share_of(100, 1000, 1500, true), 1 + 5);
	ck_assert_double_eq(share_of(100, 1500, 2000, true), 1 + 5);
	ck_assert_double_eq(share_of(100, 1200, 1400, true), 2);
	ck_assert_double_eq(share_of(100, 500, 1100, true), 1 + 1);
	ck_assert_double_eq(share_of(100, 2000, 2000, true), 1);
	/* One launch was at its end. */
	ck_assert_double_eq(share_of(101, 1000, 1699, true), 0);
	ck_assert_double_eq(share_of(101, 1000, 1700, true), 1);
	ck_assert_double_eq(share_of(101, 1700, 1800, true), 1);
	ck_assert_double_eq(share_of(101, 1701, 1800, true), 0);
	/* What is asked again is answered again, after what comes meanwhile, too. */
	ck_assert_double_eq(share_of(101, 1000, 1700, true), 1);
	ck_assert(launch(1, 101, 4, 1600, 1600));
	ck_assert_double_eq(share_of(101, 1000, 1700, true), 5);
}

/* When nobody launched it in the interval: those that did last, and what was launched within 0.1 s before that. */
TEST(launches_before_count_else_those_after)
{
	uint64_t together = SECOND / 10;
	add_kernel(1, 10, 5, 0x1000, 1, UINT64_MAX);
	ck_assert(launch(1, 100, 7, 5 * SECOND - 2 * together, 5 * SECOND - together));
	ck_assert(launch(1, 101, 8, 5 * SECOND - 2 * together, 5 * SECOND - together + 1));
	ck_assert(launch(1, 102, 9, 5 * SECOND, 5 * SECOND));
	ck_assert(launch(1, 103, 4, 8 * SECOND, 8 * SECOND));
	ck_assert(launch(1, 104, 5, 8 * SECOND + together - 1, 9 * SECOND));
	ck_assert(launch(1, 105, 6, 8 * SECOND + together, 9 * SECOND));
	const double before[] = { 0, 8, 9, 0, 0, 0 }, after[] = { 0, 0, 0, 4, 5, 0 };
	for (uint32_t i = 0; i < 6; i++) {
		ck_assert_double_eq(share_of(100 + i, 6 * SECOND, 7 * SECOND, false), before[i]);
		ck_assert_double_eq(share_of(100 + i, 5 * SECOND + 1, 8 * SECOND - 1, false), before[i]);
		/* Nothing was before this: a new kernel, whose launches are reported late. */
		ck_assert_double_eq(share_of(100 + i, 1, 2, false), i < 2 ? 7 + i : 0);
	}
	uint32_t position = kernels_at(&kernels, 10, 0x1000, 5);
	ck_assert(launch_history_were_before(&kernels.items.items[position], 9 * SECOND + 10, 11));
	ck_assert(!launch_history_were_before(&kernels.items.items[position], 9 * SECOND + 10, 10));
	ck_assert(launch_history_were_before(&kernels.items.items[position], 8 * SECOND + 1, 2));
	ck_assert(!launch_history_were_before(&kernels.items.items[position], 8 * SECOND + 1, 1));
	ck_assert(!launch_history_were_before(&kernels.items.items[position], 5 * SECOND - 2 * together, UINT64_MAX));
	add_kernel(2, 20, 5, 0x1000, 1, UINT64_MAX);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert(launch(2, 103 + i, 4 + i, (8 + i) * SECOND, 20 * SECOND));
	const struct kernel_share *shares;
	bool in_time;
	ck_assert_uint_eq(kernels_shares(&kernels, kernels_at(&kernels, 20, 0x1000, 5), 1, 2, &shares, &in_time), 1);
	ck_assert_uint_eq(shares[0].launch_stack, 103);
	ck_assert_double_eq(after[3], shares[0].weight);
}

/* More launches than are kept separately: the older half is merged by stack, or dropped if each has its own stack. */
TEST_LOOP(many_launches_are_merged, 0, 2)
{
	bool has_few_stacks = _i;
	add_kernel(1, 10, 5, 0x1000, 1, UINT64_MAX);
	for (uint64_t i = 1; i <= LAUNCHES_MAX; i++)
		ck_assert(launch(1, has_few_stacks ? i % 2 : (uint32_t)i, 3, 10 * i, 10 * i + 5));
	ck_assert_uint_eq(kernels.merged, 0);
	ck_assert(launch(1, 9999, 3, 10 * (LAUNCHES_MAX + 1), 10 * (LAUNCHES_MAX + 1)));
	const struct kernel *kernel = &kernels.items.items[kernels_at(&kernels, 10, 0x1000, 5)];
	ck_assert_uint_eq(kernel->launches.count, LAUNCHES_MAX / 2 + 1 + (has_few_stacks ? 2 : 0));
	ck_assert_uint_eq(kernels.merged, has_few_stacks ? 3 * (LAUNCHES_MAX / 2 - 2) : 3 * LAUNCHES_MAX / 2);
	uint64_t half = 10 * (LAUNCHES_MAX / 2) + 5;
	if (has_few_stacks) {
		ck_assert_double_eq(share_of(0, 0, half, true), 3.0 * LAUNCHES_MAX / 4);
		ck_assert_double_eq(share_of(1, 0, half, true), 3.0 * LAUNCHES_MAX / 4);
		ck_assert_uint_eq(kernel->launches.items[0].first_time, 20);
		ck_assert_uint_eq(kernel->launches.items[0].last_time, half);
		ck_assert_uint_eq(kernel->launches.items[1].first_time, 10);
		ck_assert_uint_eq(kernel->launches.items[1].last_time, half - 10);
	}
	ck_assert_double_eq(share_of(LAUNCHES_MAX / 2 + 1, half + 5, half + 10, true), has_few_stacks ? 0 : 3);
	ck_assert_double_eq(share_of(9999, 10 * (LAUNCHES_MAX + 1), 10 * (LAUNCHES_MAX + 1), true), 3);
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

TEST(kernels_go_some_time_after_their_process)
{
	add_kernel(1, 10, 5, 0x1000, 5, UINT64_MAX);
	add_kernel(2, 10, 6, 0x1000, 30, UINT64_MAX);
	add_kernel(3, 11, 5, 0x1000, 5, 60);
	kernels_end_process(&kernels, 10, 4);
	ck_assert_uint_eq(kernels.ended, 1);
	kernels_end_process(&kernels, 10, 20); /* the second is the next program's */
	ck_assert_uint_eq(kernels.ended, 2);
	kernels_end_process(&kernels, 10, 25);
	ck_assert_uint_eq(kernels.ended, 2);
	ck_assert(launch(1, 100, 1, 40, 40)); /* reported late */
	kernels_forget(&kernels, 20);
	ck_assert_uint_ne(kernels_at(&kernels, 10, 0x1000, 5), KERNEL_NONE);
	kernels_forget(&kernels, 40);
	ck_assert_uint_ne(kernels_at(&kernels, 10, 0x1000, 5), KERNEL_NONE);
	kernels_forget(&kernels, 41);
	ck_assert_uint_eq(kernels_at(&kernels, 10, 0x1000, 5), KERNEL_NONE);
	ck_assert(!launch(1, 100, 1, 40, 40));
	ck_assert_uint_ne(kernels_at(&kernels, 10, 0x1000, 6), KERNEL_NONE);
	ck_assert(launch(2, 100, 1, 40, 40));
	ck_assert_uint_ne(kernels_at(&kernels, 11, 0x1000, 5), KERNEL_NONE);
	kernels_forget(&kernels, 61);
	ck_assert_uint_eq(kernels_of_process(&kernels, 11), KERNEL_NONE);
	ck_assert_uint_eq(kernels.ended, 0);
	ck_assert_uint_eq(kernels.ids.count - kernels.free_ids.count, 1);
	/* Places are used again, by another process, too. */
	size_t locations = kernels.items.count;
	add_kernel(7, 13, 5, 0x1000, 70, UINT64_MAX);
	add_kernel(8, 13, 6, 0x1000, 70, UINT64_MAX);
	ck_assert_uint_eq(kernels.items.count, locations);
	ck_assert_uint_ne(kernels_at(&kernels, 13, 0x1000, 5), kernels_at(&kernels, 13, 0x1000, 6));
	ck_assert(launch(7, 100, 1, 80, 80) && launch(8, 100, 1, 80, 80));
}

/* Free ids do not count as those that crowd the table. */
TEST(unused_kernels_stay_while_there_is_room)
{
	enum { MANY = 70000 };
	for (uint32_t i = 0; i < MANY; i++)
		add_kernel(2 + i, 10, 1 + i % 100, 0x1000, 5, UINT64_MAX);
	add_kernel(1, 11, 5, 0x1000, 5, UINT64_MAX);
	kernels_end_process(&kernels, 10, 10);
	kernels_forget(&kernels, 20);
	ck_assert_uint_eq(kernels.free_ids.count, MANY);
	add_kernel(2, 12, 5, 0x1000, 5, 30);
	kernels_forget(&kernels, 40);
	ck_assert_uint_ne(kernels_at(&kernels, 11, 0x1000, 5), KERNEL_NONE);
}

/* Division */

static struct proportional_split split;

static void add_target(uint32_t launch_stack, uint32_t location, double weight)
{
	ck_assert(proportional_split_add(
		&split, &(struct device_stack_key){ .launch_stack = launch_stack, .location = location }, weight));
}

TEST(parts_are_in_proportion)
{
	proportional_split_begin(&split);
	add_target(1, 1, 1);
	add_target(2, 1, 2);
	add_target(3, 1, 1);
	add_target(2, 2, 4);
	proportional_split_divide(&split, 800);
	const uint64_t parts[] = { 100, 200, 100, 400 };
	for (size_t i = 0; i < 4; i++)
		ck_assert_uint_eq(split.targets.items[i].part, parts[i]);
	proportional_split_begin(&split);
	add_target(1, 1, 0.001);
	proportional_split_divide(&split, UINT64_MAX);
	ck_assert_uint_eq(split.targets.items[0].part, UINT64_MAX);
}

/* Single samples: each stack gets its share in the long run, and never is more than one behind. */
TEST(what_is_left_over_is_remembered)
{
	const double weights[] = { 1, 2, 5 };
	uint64_t sums[3] = { 0 };
	for (unsigned round = 1; round <= 800; round++) {
		proportional_split_begin(&split);
		for (uint32_t i = 0; i < 3; i++)
			add_target(i + 1, round % 7, weights[i]);
		proportional_split_divide(&split, 1);
		uint64_t total = 0;
		for (size_t i = 0; i < 3; i++) {
			sums[i] += split.targets.items[i].part;
			total += split.targets.items[i].part;
			double due = round * weights[i] / 8;
			ck_assert_double_le((double)sums[i], due + 1.01);
			ck_assert_double_ge((double)sums[i], due - 1.01);
		}
		ck_assert_uint_eq(total, 1);
	}
	ck_assert_uint_eq(sums[0], 100);
	ck_assert_uint_eq(sums[1], 200);
	ck_assert_uint_eq(sums[2], 500);
}

/* Whatever the weights and counts, parts add up; the rest of a stack goes to its largest target. */
TEST(parts_add_up)
{
	uint64_t state = 1;
	for (unsigned round = 0; round < 2000; round++) {
		proportional_split_begin(&split);
		uint64_t count = (state >> 20) >> (round % 44), sum = 0;
		for (uint32_t i = 0; i < 2 + round % 9; i++) {
			state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			add_target((uint32_t)(state >> 33) % 4, i, 0.1 + (double)(state >> 50));
		}
		proportional_split_divide(&split, count);
		for (size_t i = 0; i < split.targets.count; i++)
			sum += split.targets.items[i].part;
		ck_assert_uint_eq(sum, count);
	}
	proportional_split_begin(&split);
	add_target(77, 1, 1);
	add_target(77, 2, 3);
	add_target(77, 3, 2);
	proportional_split_divide(&split, 1);
	for (size_t i = 0; i < 3; i++)
		ck_assert_uint_eq(split.targets.items[i].part, i == 1);
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

TEST(devices_are_named_apart)
{
	struct sampled_devices devices = { .intern = intern_new(NULL) };
	char text[64];
	uint32_t name = intern_text_id(devices.intern, "GPU");
	struct iaprof_record_device device = { .header.source = 3, .id = 1, .name = name };
	device.address = intern_text_id(devices.intern, "03:00.0");
	sampled_devices_take(&devices, &device);
	sampled_device_name(devices.items.items, 1, 0, text, sizeof text);
	ck_assert_str_eq(text, "GPU");
	device.id = 2;
	device.address = intern_text_id(devices.intern, "04:00.0");
	sampled_devices_take(&devices, &device);
	sampled_devices_take(&devices, &device);
	ck_assert_uint_eq(devices.items.count, 2);
	sampled_device_name(devices.items.items, 2, 1, text, sizeof text);
	ck_assert_str_eq(text, "GPU at 04:00.0");
	device.id = 3;
	sampled_devices_take(&devices, &device);
	sampled_device_name(devices.items.items, 3, 1, text, sizeof text);
	ck_assert_str_eq(text, "GPU (device 2 of source 3)");
	sampled_device_name(devices.items.items, 3, 0, text, sizeof text);
	ck_assert_str_eq(text, "GPU at 03:00.0");
	/* One that was not announced, and the same number of another source. */
	ck_assert_str_eq(sampled_devices_find(&devices, 3, 9)->samples.name, "unknown device");
	ck_assert_str_eq(sampled_devices_find(&devices, 4, 1)->samples.name, "unknown device");
	ck_assert_str_eq(sampled_devices_find(&devices, 3, 1)->samples.address, "03:00.0");
	for (uint32_t i = 0; i < 2000; i++)
		sampled_devices_find(&devices, 5, i);
	ck_assert_uint_eq(devices.items.count, 1024);
	ck_assert_ptr_null(sampled_devices_find(&devices, 5, 5000));
	struct intern *intern = devices.intern;
	sampled_devices_free(&devices);
	intern_free(intern);
}

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
