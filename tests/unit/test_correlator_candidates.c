/* SPDX-License-Identifier: Apache-2.0 */
/* Who may be behind samples: the limits of the search, what is remembered of the sample before, and proportions. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "correlator/device_stacks.h"
#include "correlator/launch_candidates.h"
#include "correlator_history.h"
#include "device/zebin_fixture.h"
#include "symbolizer/device/device_address.h"
#include "../run_suite.h"

/* Samples of any source and device, which other tests have one each of. */
static void take_stalls_of(uint16_t source, uint32_t device, uint64_t count, uint64_t from, uint64_t to)
{
	struct {
		struct iaprof_record_stall_sample head;
		uint64_t counts[1];
	} record = { .head = { .begin = start + from,
			       .address = BASE + 0x1000,
			       .device = device,
			       .reason_count = 1,
			       .address_space = IAPROF_ADDRESS_ABSOLUTE },
		     .counts = { count } };
	take(source, &record, IAPROF_RECORD_STALL_SAMPLE, sizeof record, to);
}

static void be_busy(uint16_t source, uint32_t device, uint32_t pid, uint64_t from, uint64_t to)
{
	struct iaprof_record_device_activity record = { .begin = start + from,
							.busy = MILLISECOND,
							.device = device,
							.pid = pid,
							.kind = IAPROF_ACTIVITY_SCHEDULER };
	take(source, &record, IAPROF_RECORD_DEVICE_ACTIVITY, sizeof record, to);
}

/*
 * With code of CANDIDATES_MAX processes at the address, of which one launched it lately, it is that one's. With one
 * more, which one that is cannot be said, for there may be others still. _i & 2: they have two instruction bases.
 */
TEST_LOOP(as_many_processes_are_candidates_as_there_is_room_for, 0, 4)
{
	bool is_too_many = _i & 1, is_apart = _i & 2;
	uint32_t count = CANDIDATES_MAX + is_too_many;
	for (uint32_t pid = 100; pid < 100 + count; pid++) {
		uint64_t base = is_apart && pid % 2 ? BASE + (UINT64_C(1) << 32) : BASE;
		take_process(pid, IAPROF_PROCESS_EXISTING, pid == 100 ? "worker" : "idle", 0);
		uint32_t kernel = take_kernel(pid, pid == 100 ? "mine" : "theirs", base + 0x1000, SECOND);
		take_launches(pid, kernel, 'b', 1, SECOND, SECOND);
		if (pid == 100)
			take_launches(pid, kernel, 'a', 1, 30 * SECOND, 30 * SECOND);
	}
	take_relative(0x1000, 50, 30 * SECOND, 31 * SECOND);
	finish(is_too_many ? 0 : 100, is_too_many ? 100 : 0, 0);
	ck_assert_uint_eq(sum("worker;site_a;-;mine"), is_too_many ? sum("worker") : 100);
}

/* The same for code that one process replaced as often in an interval. */
TEST_LOOP(as_much_code_of_a_process_is_a_candidate, 0, 2)
{
	uint32_t count = CANDIDATES_MAX + (uint32_t)_i, newest = 0;
	for (uint32_t i = 0; i < count; i++) {
		char name[] = "kernel_??";
		name[7] = (char)('a' + i / 26);
		name[8] = (char)('a' + i % 26);
		newest = take_kernel(10, name, BASE + 0x1000, 30 * SECOND + i * 10 * MILLISECOND);
	}
	take_launches(10, newest, 'a', 1, 30 * SECOND + 990 * MILLISECOND, 30 * SECOND + 990 * MILLISECOND);
	be_busy(STALLS, 1, 10, 30 * SECOND, 31 * SECOND);
	take_relative(0x1000, 50, 30 * SECOND, 31 * SECOND);
	collector_finish(collector);
	struct device_samples became = statistics();
	ck_assert_uint_eq(became.matched, _i ? 0 : 100);
	ck_assert_uint_eq(became.ambiguous, _i ? 100 : 0);
}

/* Samples that come in turn, of sources, devices and intervals in which others were busy: each has its own. */
TEST(who_was_busy_is_looked_for_in_each_interval_of_each_device)
{
	static const struct {
		uint16_t source;
		uint32_t device;
		uint64_t from, to; /* ms, after 30 s */
		uint32_t pid;
	} times[] = { { STALLS, 1, 0, 100, 10 },     { STALLS, 2, 0, 100, 11 },     { STALLS, 1, 0, 100, 10 },
		      { STALLS + 1, 1, 0, 100, 11 }, { STALLS, 1, 0, 100, 10 },     { STALLS, 1, 100, 200, 11 },
		      { STALLS, 2, 100, 200, 10 },   { STALLS + 1, 2, 0, 100, 11 }, { STALLS, 1, 0, 100, 10 } };
	enum { COUNT = sizeof times / sizeof *times };
	two_processes();
	for (size_t i = 0; i < COUNT; i++)
		be_busy(times[i].source, times[i].device, times[i].pid, 30 * SECOND + times[i].from * MILLISECOND + 1,
			30 * SECOND + times[i].to * MILLISECOND - 1);
	uint64_t first = 0, second = 0;
	for (size_t i = 0; i < COUNT; i++) {
		take_stalls_of(times[i].source, times[i].device, UINT64_C(1) << i,
			       30 * SECOND + times[i].from * MILLISECOND, 30 * SECOND + times[i].to * MILLISECOND);
		*(times[i].pid == 10 ? &first : &second) += UINT64_C(1) << i;
	}
	collector_finish(collector);
	ck_assert_uint_eq(sum("first;-;add"), first);
	ck_assert_uint_eq(sum("second;-;multiply"), second);
	ck_assert_uint_eq(sum("[ambiguous]"), 0);
}

/* The same where one interval is within another, and both have an end, or a beginning. */
TEST(intervals_that_begin_or_end_together_are_apart)
{
	two_processes();
	be_busy(STALLS, 1, 10, 30 * SECOND, 30 * SECOND + 400 * MILLISECOND);
	be_busy(STALLS, 1, 11, 30 * SECOND + 600 * MILLISECOND, 31 * SECOND);
	take_relative(0x1000, 100, 30 * SECOND, 31 * SECOND);
	take_relative(0x1000, 10, 30 * SECOND + 500 * MILLISECOND, 31 * SECOND);
	take_relative(0x1000, 100, 30 * SECOND, 31 * SECOND);
	take_relative(0x1000, 1, 30 * SECOND, 30 * SECOND + 500 * MILLISECOND);
	finish(22, 400, 0);
	ck_assert_uint_eq(sum("first;-;add") - sum("first;-;[ambiguous]"), 2);
	ck_assert_uint_eq(sum("second;-;multiply") - sum("second;-;[ambiguous]"), 20);
}

/*
 * A process replaces its code in an interval. _i & 1: only the later kernel was launched in it. _i & 2: there is
 * another process, which was busy for a third of the time of this one.
 */
TEST_LOOP(code_that_is_replaced_shares_the_part_of_its_process, 0, 4)
{
	bool once = _i & 1, is_shared = _i & 2;
	uint32_t add = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_launches(10, add, 'a', 30, once ? SECOND : 30 * SECOND, once ? SECOND : 30 * SECOND + 300 * MILLISECOND);
	uint32_t subtract = take_kernel(10, "subtract", BASE + 0x1000, 30 * SECOND + 500 * MILLISECOND);
	take_launches(10, subtract, 'b', 10, 30 * SECOND + 600 * MILLISECOND, 30 * SECOND + 800 * MILLISECOND);
	if (is_shared) {
		uint32_t multiply = take_kernel(11, "multiply", BASE + 0x1000, SECOND);
		take_launches(11, multiply, 'c', 1000, 30 * SECOND, 31 * SECOND);
		take_activity(10, IAPROF_ACTIVITY_SCHEDULER, 300 * MILLISECOND, NULL, 30 * SECOND, 31 * SECOND);
		take_activity(11, IAPROF_ACTIVITY_SCHEDULER, 100 * MILLISECOND, NULL, 30 * SECOND, 31 * SECOND);
	}
	take_relative(0x1000, 400, 30 * SECOND, 31 * SECOND);
	finish(once && !is_shared ? 800 : 0, once && !is_shared ? 0 : 800, 0);
	uint64_t of_process = is_shared ? 600 : 800;
	ck_assert_uint_eq(sum("first;site_a;-;add"), once ? 0 : of_process / 4 * 3);
	ck_assert_uint_eq(sum("first;site_b;-;subtract"), once ? of_process : of_process / 4);
	ck_assert_uint_eq(sum("second;site_c;-;multiply"), 800 - of_process);
}

/*
 * A kernel that was launched before the interval may still run in it, until its code is replaced. _i & 1: it was
 * launched too long before. _i & 2: the sample states its process.
 */
TEST_LOOP(code_that_was_launched_before_the_interval_has_its_part, 0, 4)
{
	bool has_ended = _i & 1;
	uint64_t launched = has_ended ? 20 * SECOND : 29 * SECOND;
	uint32_t add = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_launches(10, add, 'a', 30, launched, launched);
	uint32_t subtract = take_kernel(10, "subtract", BASE + 0x1000, 30 * SECOND + 500 * MILLISECOND);
	take_launches(10, subtract, 'b', 10, 30 * SECOND + 600 * MILLISECOND, 30 * SECOND + 800 * MILLISECOND);
	struct {
		struct iaprof_record_stall_sample head;
		uint64_t counts[1];
	} record = { .head = { .begin = start + 30 * SECOND,
			       .address = 0x1000,
			       .device = 1,
			       .pid = _i & 2 ? 10 : 0,
			       .address_space = IAPROF_ADDRESS_INSTRUCTION_BASE,
			       .reason_count = 1 },
		     .counts = { 400 } };
	take(STALLS, &record, IAPROF_RECORD_STALL_SAMPLE, sizeof record, 31 * SECOND);
	samples_in += 400;
	finish(has_ended ? 400 : 0, has_ended ? 0 : 400, 0);
	ck_assert_uint_eq(sum("first;site_a;-;add"), has_ended ? 0 : 300);
	ck_assert_uint_eq(sum("first;site_b;-;subtract"), has_ended ? 400 : 100);
}

/* Where no launch is seen, code that is replaced shares evenly. */
TEST(code_without_launches_shares_evenly)
{
	take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_kernel(10, "subtract", BASE + 0x1000, 30 * SECOND + 500 * MILLISECOND);
	take_kernel(10, "divide", BASE + 0x1000, 30 * SECOND + 600 * MILLISECOND);
	take_kernel(11, "multiply", BASE + 0x1000, SECOND);
	take_activity(10, IAPROF_ACTIVITY_SCHEDULER, 300 * MILLISECOND, NULL, 30 * SECOND, 31 * SECOND);
	take_activity(11, IAPROF_ACTIVITY_SCHEDULER, 100 * MILLISECOND, NULL, 30 * SECOND, 31 * SECOND);
	take_relative(0x1000, 400, 30 * SECOND, 31 * SECOND);
	finish(0, 800, 0);
	ck_assert_uint_eq(sum("first;-;[ambiguous];add"), 200);
	ck_assert_uint_eq(sum("first;-;[ambiguous];subtract"), 200);
	ck_assert_uint_eq(sum("first;-;[ambiguous];divide"), 200);
	ck_assert_uint_eq(sum("second;-;[ambiguous];multiply"), 200);
}

/* A kernel that was launched less than 10 s before an interval may run in it still. */
TEST_LOOP(kernels_may_run_for_ten_seconds, 0, 2)
{
	uint32_t add = take_kernel(10, "add", BASE + 0x1000, SECOND);
	uint32_t multiply = take_kernel(11, "multiply", BASE + 0x1000, SECOND);
	take_launches(11, multiply, 'b', 1, 20 * SECOND, 20 * SECOND + (uint64_t)_i);
	take_launches(10, add, 'a', 1, 30 * SECOND, 30 * SECOND);
	take_relative(0x1000, 50, 30 * SECOND, 31 * SECOND);
	finish(_i ? 0 : 100, _i ? 100 : 0, 0);
	ck_assert_uint_eq(sum("first;site_a;-;add"), 100);
}

/* The kernels of a program that has ended are known as long as its samples may come late. */
TEST_LOOP(kernels_are_remembered_for_late_launches, 0, 2)
{
	take_process(20, IAPROF_PROCESS_FORK, "short", 10 * SECOND);
	uint32_t kernel = take_kernel(20, "add", BASE + 0x1000, 11 * SECOND);
	take_process(20, IAPROF_PROCESS_EXIT, "", 20 * SECOND);
	synchronize(20 * SECOND + CORRELATOR_HOLD + 5 * SECOND + (uint64_t)_i);
	take_launches(20, kernel, 'c', 4, 12 * SECOND, 13 * SECOND);
	finish(0, 0, 0);
	ck_assert_uint_eq(collector_statistics(collector).correlator.launches_unknown, _i ? 4 : 0);
}

/* Functions of an image, which several kernels may call */

static char image_path[] = "/tmp/iaprof-test-image-XXXXXX";
static uint64_t function_address, kernel_addresses[2];

/* An image whose function "tiny" is no kernel, for its symbol is "iny"; "matmul_tile" and "histogram" are. */
static void make_image(void)
{
	size_t size;
	char *bytes = zebin_bytes("bmg/transformer", ".loaded-debug.elf", &size);
	Elf64_Sym *symbol = zebin_symbol(bytes, "tiny");
	symbol->st_name++;
	function_address = device_address_plain(symbol->st_value);
	kernel_addresses[0] = device_address_plain(zebin_symbol(bytes, "matmul_tile")->st_value);
	kernel_addresses[1] = device_address_plain(zebin_symbol(bytes, "histogram")->st_value);
	int descriptor = mkstemp(image_path);
	ck_assert_int_ge(descriptor, 0);
	ck_assert_int_eq(write(descriptor, bytes, size), size);
	close(descriptor);
	free(bytes);
}

static uint32_t take_kernel_of(uint32_t pid, uint32_t object, const char *name, uint64_t address)
{
	struct iaprof_record_kernel record = { .id = ++kernel_count,
					       .pid = pid,
					       .name = text(name),
					       .address = address,
					       .size = 0x40,
					       .instruction_base = BASE,
					       .code_object = object };
	take(LAUNCHES, &record, IAPROF_RECORD_KERNEL, sizeof record, SECOND);
	return record.id;
}

static void take_function_samples(uint64_t count, uint64_t from, uint64_t to)
{
	take_stalls(function_address + 16, IAPROF_ADDRESS_ABSOLUTE, count, from, to);
}

/* The kernels of the image that were launched in the interval share what a function of it does. */
TEST(functions_are_of_the_kernels_that_were_launched)
{
	make_image();
	uint32_t object = take_object(10, image_path, 0, SECOND);
	uint32_t matmul = take_kernel_of(10, object, "matmul_tile", kernel_addresses[0]);
	uint32_t histogram = take_kernel_of(10, object, "histogram", kernel_addresses[1]);
	uint32_t other = take_kernel(10, "other", BASE + 0x1000, SECOND); /* of no image */
	take_launches(10, other, 'x', 100, 2 * SECOND, 60 * SECOND);
	take_launches(10, matmul, 'a', 30, 10 * SECOND, 11 * SECOND);
	take_launches(10, matmul, 'a', 30, 20 * SECOND, 21 * SECOND);
	take_launches(10, histogram, 'b', 10, 20 * SECOND, 21 * SECOND);
	take_function_samples(50, 10 * SECOND, 11 * SECOND);
	take_function_samples(400, 20 * SECOND, 21 * SECOND);
	take_function_samples(7, 30 * SECOND, 31 * SECOND); /* nothing was launched then */
	finish(100 + 14, 800, 0);
	unlink(image_path);
	ck_assert_uint_eq(sum("first;site_a;-;[ambiguous];tiny"), 600);
	ck_assert_uint_eq(sum("first;site_b;-;[ambiguous];tiny"), 200);
	ck_assert_uint_eq(sum("first;site_a;-;tiny"), 600 + 100);
	ck_assert_uint_eq(sum("first;[launch not seen];-;tiny"), 14);
	ck_assert_uint_eq(sum("site_x"), 0);
}

/* In turn, of two processes that have the image, and two intervals: each has its own callers. */
TEST(callers_are_of_their_process_and_interval)
{
	make_image();
	for (uint32_t pid = 10; pid < 12; pid++) {
		uint32_t object = take_object(pid, image_path, 0, SECOND);
		uint32_t matmul = take_kernel_of(pid, object, "matmul_tile", kernel_addresses[0]);
		uint32_t histogram = take_kernel_of(pid, object, "histogram", kernel_addresses[1]);
		take_launches(pid, matmul, pid == 10 ? 'a' : 'c', 1, 20 * SECOND, 20 * SECOND);
		take_launches(pid, histogram, pid == 10 ? 'b' : 'd', 1, 21 * SECOND, 21 * SECOND);
	}
	for (uint64_t round = 0; round < 2; round++)
		for (uint32_t pid = 10; pid < 12; pid++)
			for (uint64_t second = 20; second < 22; second++) {
				struct {
					struct iaprof_record_stall_sample head;
					uint64_t counts[1];
				} record = { .head = { .begin = start + second * SECOND - MILLISECOND,
						       .address = function_address + 16,
						       .device = 1,
						       .pid = pid,
						       .address_space = IAPROF_ADDRESS_ABSOLUTE,
						       .reason_count = 1 },
					     .counts = { pid == 10 ? second : 100 * second } };
				take(STALLS, &record, IAPROF_RECORD_STALL_SAMPLE, sizeof record,
				     second * SECOND + MILLISECOND);
				samples_in += record.counts[0];
			}
	finish(samples_in, 0, 0);
	unlink(image_path);
	ck_assert_uint_eq(sum("first;site_a;-;tiny"), 2 * 20);
	ck_assert_uint_eq(sum("first;site_b;-;tiny"), 2 * 21);
	ck_assert_uint_eq(sum("second;site_c;-;tiny"), 2 * 2000);
	ck_assert_uint_eq(sum("second;site_d;-;tiny"), 2 * 2100);
}

static void take_launch_under_span(uint32_t kernel, uint8_t span, uint64_t time)
{
	struct iaprof_record_launch record = { .kernel = kernel,
					       .pid = 10,
					       .count = 1,
					       .first_time = start + time,
					       .span = { .trace_id = { 1 }, .span_id = { span } } };
	take(LAUNCHES, &record, IAPROF_RECORD_LAUNCH, sizeof record, time);
}

/* Returns the values of stacks that have a span. */
static uint64_t sum_of_spans(void)
{
	struct snapshot *snapshot = collector_snapshot(collector, true);
	const struct iaprof_profile *profile = &snapshot->profile;
	uint64_t result = 0;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		result += iaprof_profile_stack_span(profile, value->stack) ? value->value : 0;
	}
	snapshot_release(snapshot);
	return result;
}

/* A function is under the span of the kernel that was launched, unless a kernel launched before may still call it. */
TEST(functions_have_the_span_of_the_only_kernel_that_may_run)
{
	tear_down();
	history_spans = true;
	set_up();
	make_image();
	uint32_t object = take_object(10, image_path, 0, SECOND);
	uint32_t matmul = take_kernel_of(10, object, "matmul_tile", kernel_addresses[0]);
	uint32_t histogram = take_kernel_of(10, object, "histogram", kernel_addresses[1]);
	take_launch_under_span(matmul, 1, 10 * SECOND);
	take_launch_under_span(histogram, 2, 15 * SECOND);
	take_launch_under_span(histogram, 2, 25 * SECOND);
	take_function_samples(5, 10 * SECOND, 11 * SECOND);
	take_function_samples(70, 15 * SECOND - MILLISECOND, 16 * SECOND); /* of either */
	take_function_samples(900, 25 * SECOND - MILLISECOND, 26 * SECOND);
	finish(samples_in, 0, 0);
	unlink(image_path);
	ck_assert_uint_eq(sum("tiny"), samples_in);
	ck_assert_uint_eq(sum_of_spans(), 2 * (5 + 900));
}

/* Limit on distinct kernels; those announced first are left out. */
TEST_LOOP(callers_are_bounded, 0, 2)
{
	uint32_t count = CANDIDATE_KERNELS_MAX + (uint32_t)_i;
	make_image();
	uint32_t object = take_object(10, image_path, 0, SECOND);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t kernel = take_kernel_of(10, object, "matmul_tile", kernel_addresses[0] + i * 16);
		take_launches(10, kernel, i ? 'a' : 'b', 1, 20 * SECOND, 20 * SECOND);
	}
	take_function_samples(CANDIDATE_KERNELS_MAX * 50, 20 * SECOND, 21 * SECOND);
	finish(0, samples_in, 0);
	unlink(image_path);
	ck_assert_uint_eq(sum("first;site_b;-;[ambiguous];tiny"), _i ? 0 : 100);
	ck_assert_uint_eq(sum("first;site_a;-;[ambiguous];tiny"), samples_in - (_i ? 0 : 100));
}

/* Value types */

/* Limit on distinct value types; samples of further ones count as the first that was declared. */
TEST(value_types_are_bounded)
{
	for (uint32_t i = 0; i <= DEVICE_STACKS_VALUE_TYPES_MAX; i++) {
		char name[] = "type ?";
		name[5] = (char)('a' + i);
		struct iaprof_record_device device = { .id = 100 + i,
						       .value_name = text(name),
						       .value_unit = text("count") };
		take(STALLS, &device, IAPROF_RECORD_DEVICE, sizeof device, 0);
	}
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i <= DEVICE_STACKS_VALUE_TYPES_MAX; i++)
			take_stalls_of(STALLS, 100 + i, 100 + i, SECOND, 2 * SECOND);
	collector_finish(collector);
	ck_assert_uint_eq(total_of("type a", "count"), 2 * (100 + 100 + DEVICE_STACKS_VALUE_TYPES_MAX));
	for (uint32_t i = 1; i < DEVICE_STACKS_VALUE_TYPES_MAX; i++) {
		char name[] = "type ?";
		name[5] = (char)('a' + i);
		ck_assert_uint_eq(total_of(name, "count"), 2 * (100 + i));
	}
	ck_assert_uint_eq(total_of("type q", "count"), 0);
}

/* A sample waits until its source has reported progress to its time, and a SYNC came later; or for CORRELATOR_HOLD. */
TEST_LOOP(samples_wait_until_all_is_told, 0, 2)
{
	uint64_t time = 20 * SECOND;
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_launches(10, kernel, 'a', 1, 19 * SECOND, 19 * SECOND);
	take_relative(0x1000, 50, 19 * SECOND, time);
	if (_i)
		tell(time);
	synchronize(time);
	ck_assert_uint_eq(statistics().matched, 0);
	if (!_i) {
		tell(time - 1);
		synchronize(time + 1);
		ck_assert_uint_eq(statistics().matched, 0);
		synchronize(time + CORRELATOR_HOLD - 1);
		ck_assert_uint_eq(statistics().matched, 0);
	}
	synchronize(_i ? time + 1 : time + CORRELATOR_HOLD);
	ck_assert_uint_eq(statistics().matched, 100);
	finish(100, 0, 0);
}

/* The progress of so many sources of code is known; further ones are not waited for. */
TEST_LOOP(sources_that_are_waited_for_are_bounded, 0, 2)
{
	enum { ROOM = 64 };
	uint32_t count = ROOM + (uint32_t)_i;
	for (uint32_t i = 0; i < count; i++) {
		struct iaprof_record_kernel record = {
			.id = 1,
			.pid = 10,
			.name = text("add"),
			.address = BASE + 0x1000 * (i + 1),
			.size = 0x1000,
			.instruction_base = BASE,
		};
		struct iaprof_record_counter_value told = { .counter = 1, .value = 1 };
		take((uint16_t)(100 + i), &record, IAPROF_RECORD_KERNEL, sizeof record, SECOND);
		if (i + 1 < count)
			take((uint16_t)(100 + i), &told, IAPROF_RECORD_COUNTER_VALUE, sizeof told, 20 * SECOND);
	}
	take_relative(0x1000, 50, 19 * SECOND, 20 * SECOND);
	synchronize(20 * SECOND + 1);
	ck_assert_uint_eq(statistics().matched, _i ? 100 : 0);
	finish(100, 0, 0);
}

/* A sample of unknown code waits for it as long. _i: it comes in time. */
TEST_LOOP(samples_wait_for_their_code, 0, 2)
{
	uint64_t time = 20 * SECOND;
	take_kernel(10, "subtract", BASE + 0x5000, SECOND);
	take_relative(0x1000, 50, 19 * SECOND, time);
	tell(time);
	synchronize(time + 1);
	synchronize(time + CORRELATOR_HOLD - 1);
	ck_assert_uint_eq(statistics().matched + statistics().unmatched, 0);
	if (_i) {
		take_kernel(10, "add", BASE + 0x1000, SECOND);
		synchronize(time + CORRELATOR_HOLD - 1);
	} else {
		synchronize(time + CORRELATOR_HOLD);
		take_kernel(10, "add", BASE + 0x1000, SECOND);
	}
	finish(_i ? 100 : 0, 0, _i ? 0 : 100);
}

/* Launches of the very time of a SYNC are known with it. */
TEST_LOOP(launches_up_to_the_sync_count, 0, 2)
{
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_launches(10, kernel, 'a', 7, 19 * SECOND, 21 * SECOND + (uint64_t)_i);
	take_launches(10, 99, 'a', 3, 19 * SECOND, 21 * SECOND); /* nobody announced that kernel */
	take_relative(0x1000, 50, 19 * SECOND, 20 * SECOND);
	tell(20 * SECOND);
	synchronize(21 * SECOND);
	finish(100, 0, 0);
	ck_assert_uint_eq(sum("first;site_a;-;add"), _i ? 0 : 100);
	ck_assert_uint_eq(sum("first;[launch not seen];-;add"), _i ? 100 : 0);
	ck_assert_uint_eq(statistics().unlaunched, _i ? 100 : 0);
	ck_assert_uint_eq(collector_statistics(collector).correlator.launches_unknown, 3);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
