/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The correlator: stall samples go to the code that was at their address, and to those who launched it, in the right
 * proportion; what is not known for sure is marked; no sample is lost, none is made.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "correlator/code_locations.h"
#include "correlator_history.h"
#include "device/zebin_fixture.h"
#include "plugin/registry.h"
#include "run/decoders.h"
#include "symbolizer/device/code_reader.h"
#include "symbolizer/device/device_address.h"
#include "../run_suite.h"

TEST(a_kernel_and_its_stack)
{
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_launches(10, kernel, 'a', 3, SECOND, 2 * SECOND);
	take_relative(0x1010, 50, SECOND, 2 * SECOND);
	tell(2 * SECOND);
	synchronize(3 * SECOND);
	ck_assert_uint_eq(statistics().samples, 100);
	finish(100, 0, 0);
	ck_assert_uint_eq(sum("first;site_a;-;add;active;0x10"), 50);
	ck_assert_uint_eq(sum("first;site_a;-;add;sbid;0x10"), 50);
}

/* The kinds of a stack's frames, a letter each, from the root to the leaf. */
static void kinds_read(const struct iaprof_profile *profile, uint32_t stack, char *kinds, size_t size)
{
	const struct iaprof_stack *frames = iaprof_profile_stack(profile, stack);
	ck_assert_uint_lt(frames->frame_count, size);
	for (uint32_t i = 0; i < frames->frame_count; i++)
		kinds[i] = "?PUK?-sfiro??"[iaprof_profile_frame(profile, frames->frames[i])->kind];
	kinds[frames->frame_count] = '\0';
}

TEST(user_frames_then_the_linux_kernels_then_the_device)
{
	const uint64_t program[] = { 0x2000, 0x1000 };
	const uint64_t system_call[] = { UINT64_C(0xffffffff81000204), UINT64_C(0xffffffff81000104) };
	struct iaprof_record_launch launch = { .kernel = take_kernel(10, "add", BASE + 0x1000, SECOND),
					       .pid = 10,
					       .user_stack = intern_stack(intern, 10, program, 2),
					       .kernel_stack = intern_stack(intern, 0, system_call, 2),
					       .count = 3,
					       .first_time = start + SECOND };
	take(LAUNCHES, &launch, IAPROF_RECORD_LAUNCH, sizeof launch, 2 * SECOND);
	take_relative(0x1010, 50, SECOND, 2 * SECOND);
	finish(100, 0, 0);
	ck_assert_uint_eq(sum("first;site_b;site_c;-;add"), 100); /* the leaf is the first address */
	struct snapshot *snapshot = collector_snapshot(collector, true);
	ck_assert_uint_gt(snapshot->profile.value_count, 0);
	for (size_t i = 0; i < snapshot->profile.value_count; i++) {
		char kinds[16];
		kinds_read(&snapshot->profile, iaprof_profile_value(&snapshot->profile, i)->stack, kinds, sizeof kinds);
		ck_assert_msg(!strncmp(kinds, "PUUKK-f", 7), "%s", kinds);
	}
	snapshot_release(snapshot);
}

static void take_stalls_of(uint32_t device, uint64_t count, uint64_t to)
{
	struct {
		struct iaprof_record_stall_sample head;
		uint64_t counts[1];
	} record = { .head = { .begin = start + to - SECOND, .address = 0x1000, .device = device, .reason_count = 1 },
		     .counts = { count } };
	take(STALLS, &record, IAPROF_RECORD_STALL_SAMPLE, sizeof record, to);
}

/* A source states the value type of each of its devices; a shorter record does not. */
/* A launch from a stack of as many functions, and the samples of its GPU kernel. */
static void launch_from_depth(size_t depth)
{
	static uint64_t addresses[IAPROF_STACK_DEPTH_MAX];
	for (size_t i = 0; i < depth; i++)
		addresses[i] = 0x1000 + i;
	struct iaprof_record_launch launch = { .kernel = take_kernel(10, "add", BASE + 0x1000, SECOND),
					       .pid = 10,
					       .user_stack = intern_stack(intern, 10, addresses, depth),
					       .count = 1,
					       .first_time = start + SECOND };
	take(LAUNCHES, &launch, IAPROF_RECORD_LAUNCH, sizeof launch, 2 * SECOND);
	take_relative(0x1010, 50, SECOND, 2 * SECOND);
}

TEST(the_deepest_stack_of_a_launch_is_marked)
{
	launch_from_depth(IAPROF_STACK_DEPTH_MAX);
	finish(100, 0, 0);
	ck_assert_uint_eq(sum("first;[truncated];-;add"), 100);
}

TEST(a_stack_that_may_be_whole_is_not_marked)
{
	launch_from_depth(IAPROF_STACK_DEPTH_MAX - 1);
	finish(100, 0, 0);
	ck_assert_uint_eq(sum("first;-;add"), 100);
	ck_assert_uint_eq(sum("first;[truncated];-;add"), 0);
}

TEST(samples_count_what_their_device_declares)
{
	struct iaprof_record_device other = {
		.id = 2, .name = text("NPU 1"), .value_name = text("waits"), .value_unit = text("cycles")
	};
	struct iaprof_record_device third = { .id = 3, .name = text("GPU 2"), .value_name = text("gpu-stalls") };
	struct iaprof_record_device old = { .id = 4, .name = text("GPU 3"), .value_name = text("ignored") };
	take(STALLS, &other, IAPROF_RECORD_DEVICE, sizeof other, 0);
	take(STALLS, &third, IAPROF_RECORD_DEVICE, sizeof third, 0);
	take(STALLS, &old, IAPROF_RECORD_DEVICE, offsetof(struct iaprof_record_device, value_name), 0);
	for (uint32_t device = 1; device <= 5; device++) /* nobody announced the last one */
		take_stalls_of(device, 1 << device, 2 * SECOND);
	collector_finish(collector);
	ck_assert_uint_eq(total_of("waits", "cycles"), 1 << 2);
	ck_assert_uint_eq(total_of("gpu-stalls", "count"), 1 << 1 | 1 << 3 | 1 << 4 | 1 << 5);
}

/* They are not counted as what the first device counts. */
TEST(samples_of_devices_beyond_the_limit_are_stalls)
{
	struct iaprof_record_device device = { .name = text("NPU"), .value_name = text("waits") };
	for (device.id = 2; device.id < 1100; device.id++)
		take(STALLS, &device, IAPROF_RECORD_DEVICE, sizeof device, 0);
	take_stalls_of(2, 3, 2 * SECOND);
	take_stalls_of(5000, 7, 2 * SECOND);
	collector_finish(collector);
	ck_assert_uint_eq(total_of("waits", "count"), 3);
	ck_assert_uint_eq(total_of("gpu-stalls", "count"), 7);
}

/* The summary has the counters by their roles, whatever their names. */
TEST(counters_have_the_role_that_their_source_declares)
{
	static const uint32_t roles[] = { IAPROF_COUNTER_ROLE_NONE, IAPROF_COUNTER_ROLE_ROWS,
					  IAPROF_COUNTER_ROLE_OVERFLOWS };
	static const char *const names[] = { "rows", "written", "gone" };
	for (uint32_t i = 0; i < 3; i++) {
		struct iaprof_record_counter counter = {
			.id = i + 1, .name = text(names[i]), .device = 1, .role = roles[i]
		};
		struct iaprof_record_counter_value value = { .counter = i + 1, .value = 10 + i };
		take(STALLS, &counter, IAPROF_RECORD_COUNTER, sizeof counter, 0);
		take(STALLS, &value, IAPROF_RECORD_COUNTER_VALUE, sizeof value, SECOND);
	}
	ck_assert_uint_eq(statistics().rows, 11);
	ck_assert_uint_eq(statistics().overflows, 12);
	collector_finish(collector);
}

/* A base from which the code is not within reach is none: then samples are in no code. */
TEST_LOOP(relative_addresses_reach_as_far_as_the_source_says, 0, 4)
{
	static const struct {
		uint64_t window, from_base;
		bool is_reached;
	} cases[] = { { 0, 0x80000000, true },
		      { 0, UINT64_C(1) << 32, false },
		      { 1 << 20, 0x1000, true },
		      { 1 << 20, 1 << 20, false } };
	uint64_t base = BASE + 0x40000;
	struct iaprof_record_kernel kernel = { .id = 1,
					       .pid = 10,
					       .name = text("add"),
					       .address = base + cases[_i].from_base,
					       .size = 0x100,
					       .instruction_base = base,
					       .instruction_window = cases[_i].window };
	take(LAUNCHES, &kernel, IAPROF_RECORD_KERNEL, sizeof kernel, SECOND);
	take_relative(cases[_i].from_base, 1, 2 * SECOND, 3 * SECOND);
	take_relative(kernel.address & UINT32_MAX, 10, 2 * SECOND, 3 * SECOND);
	finish(cases[_i].is_reached ? 2 : 0, 0, cases[_i].is_reached ? 20 : 22);
}

TEST(stacks_share_by_how_often_they_launched)
{
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	for (uint32_t i = 0; i < 20; i++) {
		uint64_t from = SECOND + i * 100 * MILLISECOND, to = from + 99 * MILLISECOND;
		for (char site = 'a'; site < 'f'; site++)
			take_launches(10, kernel, site, UINT64_C(1) << (site - 'a'), from, to);
		for (uint64_t address = 0x1000; address < 0x1100; address += 0x10)
			take_relative(address, 1 + address / 16 % 5, from, to);
		tell(to);
	}
	synchronize(4 * SECOND);
	finish(samples_in, 0, 0);
	for (char site = 'a'; site < 'f'; site++) {
		char frames[] = "first;site_?;-;add";
		*strchr(frames, '?') = site;
		double share = (double)sum(frames) / (double)samples_in;
		ck_assert_double_eq_tol(share, (double)(1 << (site - 'a')) / 31, 0.005);
	}
}

TEST(launches_of_the_interval_count_and_else_the_last_ones)
{
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, 0);
	take_launches(10, kernel, 'a', 100, SECOND, 2 * SECOND);
	take_launches(10, kernel, 'b', 1, 3 * SECOND, 3 * SECOND);
	take_relative(0x1000, 10, 1100 * MILLISECOND, 1200 * MILLISECOND);
	take_relative(0x1000, 20, 2500 * MILLISECOND, 2600 * MILLISECOND);
	take_relative(0x1000, 30, 2950 * MILLISECOND, 3050 * MILLISECOND);
	take_relative(0x1000, 40, 5 * SECOND, 6 * SECOND); /* one launch that runs for long */
	take_relative(0x1000, 50, 500 * MILLISECOND, 900 * MILLISECOND);
	finish(samples_in, 0, 0);
	ck_assert_uint_eq(sum("first;site_a;-;add"), 2 * (10 + 20 + 50));
	ck_assert_uint_eq(sum("first;site_b;-;add"), 2 * (30 + 40));
}

TEST(samples_wait_for_their_code_and_launches)
{
	uint32_t early = take_kernel(10, "early", BASE + 0x9000, 0);
	take_relative(0x1000, 10, SECOND, 1100 * MILLISECOND);
	tell(1200 * MILLISECOND);
	synchronize(2 * SECOND);
	ck_assert_uint_eq(statistics().samples, 0);
	uint32_t kernel = take_kernel(10, "late", BASE + 0x1000, 900 * MILLISECOND);
	take_launches(10, kernel, 'a', 1, SECOND, SECOND);
	tell(2100 * MILLISECOND);
	synchronize(2500 * MILLISECOND);
	ck_assert_uint_eq(statistics().matched, 20);
	/* The code is known, but not yet who launched it then. */
	take_relative(0x9000, 5, 2600 * MILLISECOND, 2700 * MILLISECOND);
	synchronize(3 * SECOND);
	ck_assert_uint_eq(statistics().samples, 20);
	take_launches(10, early, 'b', 1, 2650 * MILLISECOND, 2650 * MILLISECOND);
	tell(3 * SECOND);
	synchronize(3500 * MILLISECOND);
	ck_assert_uint_eq(statistics().samples, 30);
	/* The source never reports progress: they do not wait for ever. */
	take_relative(0x1000, 1, 4 * SECOND, 4100 * MILLISECOND);
	take_relative(0x5000, 1, 4 * SECOND, 4100 * MILLISECOND);
	synchronize(6 * SECOND);
	ck_assert_uint_eq(statistics().samples, 30);
	synchronize(6200 * MILLISECOND);
	ck_assert_uint_eq(statistics().samples, 34);
	finish(32, 0, 2);
	ck_assert_uint_eq(sum("first;site_a;-;late"), 22);
	ck_assert_uint_eq(sum("first;site_b;-;early"), 10);
	ck_assert_uint_eq(sum("[unknown];-;[unknown device code];active;0x5000"), 1);
}

TEST(who_was_busy_decides_between_processes)
{
	two_processes();
	for (uint64_t i = 0; i < 10; i++) {
		uint64_t from = SECOND + i * 100 * MILLISECOND, to = from + 90 * MILLISECOND;
		take_activity(i % 2 ? 11 : 10, IAPROF_ACTIVITY_SCHEDULER, 50 * MILLISECOND, NULL, from, to);
		/* Less to be trusted, and wrong. */
		take_activity(11, IAPROF_ACTIVITY_STATISTICS, 90 * MILLISECOND, NULL, from, to);
		take_relative(0x1000, i % 2 ? 7 : 5, from, to);
	}
	finish(samples_in, 0, 0);
	ck_assert_uint_eq(sum("first;site_a;-;add"), 2 * 5 * 5);
	ck_assert_uint_eq(sum("second;site_b;-;multiply"), 2 * 5 * 7);
}

TEST(two_at_once_are_ambiguous_and_share_by_busy_time)
{
	two_processes();
	take_activity(10, IAPROF_ACTIVITY_SCHEDULER, 30 * MILLISECOND, NULL, SECOND, 2 * SECOND);
	take_activity(11, IAPROF_ACTIVITY_SCHEDULER, 10 * MILLISECOND, NULL, SECOND, 2 * SECOND);
	take_relative(0x1000, 400, SECOND, 2 * SECOND);
	finish(0, 800, 0);
	ck_assert_uint_eq(sum("first;site_a;-;[ambiguous];add"), 600);
	ck_assert_uint_eq(sum("second;site_b;-;[ambiguous];multiply"), 200);
}

TEST(without_activity_launches_decide)
{
	uint32_t first = take_kernel(10, "add", BASE + 0x1000, SECOND);
	uint32_t second = take_kernel(11, "multiply", BASE + 0x1000, SECOND);
	take_launches(10, first, 'a', 30, SECOND, 2 * SECOND);
	take_relative(0x1000, 5, SECOND, 2 * SECOND); /* the other one never launched it */
	take_launches(11, second, 'b', 10, 3 * SECOND, 4 * SECOND);
	take_launches(10, first, 'a', 30, 3 * SECOND, 4 * SECOND);
	take_relative(0x1000, 100, 3 * SECOND, 4 * SECOND);
	finish(10, 200, 0);
	ck_assert_uint_eq(sum("first;site_a;-;add"), 160);
	ck_assert_uint_eq(sum("second;site_b;-;[ambiguous];multiply"), 50);
}

TEST(a_busy_process_without_code_is_not_given_the_code_of_an_idle_one)
{
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_launches(10, kernel, 'a', 1, SECOND, SECOND);
	take_process(12, IAPROF_PROCESS_EXISTING, "compositor", 0);
	take_activity(12, IAPROF_ACTIVITY_SCHEDULER, MILLISECOND, "[Mesa shader code]", 2 * SECOND, 3 * SECOND);
	take_relative(0x1000, 5, 2 * SECOND, 3 * SECOND);
	/* Where both are, the one with code there is more likely by far. */
	take_activity(12, IAPROF_ACTIVITY_SCHEDULER, MILLISECOND, "[Mesa shader code]", 4 * SECOND, 5 * SECOND);
	take_activity(10, IAPROF_ACTIVITY_SCHEDULER, MILLISECOND, NULL, 4 * SECOND, 5 * SECOND);
	take_relative(0x1000, 7, 4 * SECOND, 5 * SECOND);
	take_relative(0x7000, 9, 4 * SECOND, 5 * SECOND); /* whose, of the two? */
	finish(14, 0, 28);
	ck_assert_uint_eq(sum("compositor;-;[Mesa shader code];active;0x1000"), 5);
	ck_assert_uint_eq(sum("first;site_a;-;add"), 14);
	ck_assert_uint_eq(sum("[unknown];-;[unknown device code]"), 18);
}

TEST(code_that_replaces_other_code_gets_its_own_samples)
{
	CLEANUP_FREE char *path = zebin_path("lnl/transformer", ".loaded-debug.elf");
	CLEANUP_FREE char *other = zebin_path("ptl/transformer", ".loaded-debug.elf");
	expected_place_array sections = zebin_sections(path), others = zebin_sections(other);
	uint64_t location = device_address_plain(sections.items[0].address) + 0x100, address = location & UINT32_MAX;
	const char *name = NULL;
	for (size_t i = 0; i < others.count; i++) {
		uint64_t begin = device_address_plain(others.items[i].address);
		if (location >= begin && location - begin < others.items[i].size)
			name = strrchr(others.items[i].name, '.') + 1;
	}
	ck_assert_ptr_nonnull(name); /* the same address is in both images */
	uint32_t first = take_object(10, path, location, SECOND);
	take_relative(address, 5, SECOND, 2 * SECOND);
	take_unload(10, first, 3 * SECOND);
	take_relative(address, 7, 3500 * MILLISECOND, 3600 * MILLISECOND); /* nothing is there */
	take_object(10, other, location, 4 * SECOND);
	take_relative(address, 9, 5 * SECOND, 6 * SECOND);
	take_relative(address, 11, 2900 * MILLISECOND, 4100 * MILLISECOND); /* both were there for a while */
	finish(28, 22, 14);
	char frames[256];
	snprintf(frames, sizeof frames, "first;[launch not seen];-;%s", strrchr(sections.items[0].name, '.') + 1);
	ck_assert_uint_ge(sum(frames), 10 + 10); /* halves of odd numbers */
	ck_assert_uint_le(sum(frames), 10 + 12);
	snprintf(frames, sizeof frames, "first;[launch not seen];-;%s", name);
	ck_assert_uint_ge(sum(frames), 18 + 10);
	ck_assert_uint_le(sum(frames), 18 + 12);
	ck_assert_uint_eq(sum("first;[launch not seen];-"), 28 + 22);
	ck_assert_uint_eq(statistics().unlaunched, 28);
	array_free(&sections);
	array_free(&others);
}

/* Samples of an interval in which code was unloaded wait for the code that replaced it: _i: there is some. */
TEST_LOOP(code_that_replaces_other_code_may_be_announced_late, 0, 2)
{
	CLEANUP_FREE char *path = zebin_path("lnl/transformer", ".loaded-debug.elf");
	expected_place_array sections = zebin_sections(path);
	uint64_t location = device_address_plain(sections.items[0].address) + 0x100;
	take_unload(10, take_object(10, path, location, SECOND), 3 * SECOND);
	take_relative(location & UINT32_MAX, 9, 2500 * MILLISECOND, 4500 * MILLISECOND);
	tell(4600 * MILLISECOND);
	synchronize(4700 * MILLISECOND);
	ck_assert_uint_eq(statistics().matched, 0);
	if (_i)
		take_object(10, path, location, 4 * SECOND);
	synchronize(4500 * MILLISECOND + CORRELATOR_HOLD);
	finish(_i ? 0 : 18, _i ? 18 : 0, 0);
	array_free(&sections);
}

TEST(every_instruction_of_an_image_has_its_lines)
{
	CLEANUP_FREE char *path = zebin_path("bmg/transformer", ".loaded-debug.elf");
	expected_instruction_array instructions = zebin_instructions("bmg/transformer");
	take_object(10, path, BASE, SECOND);
	for (size_t i = 0; i < instructions.count; i++)
		take_relative(device_address_plain(instructions.items[i].address) - BASE, i + 1, 2 * SECOND,
			      3 * SECOND);
	finish(samples_in, 0, 0);
	for (size_t i = 0; i < instructions.count; i += 97) {
		const struct expected_instruction *instruction = &instructions.items[i];
		char frames[1024], offset[32];
		size_t length = (size_t)snprintf(frames, sizeof frames, "first;-");
		for (size_t k = instruction->frame_count; k-- > 0;)
			length += (size_t)snprintf(frames + length, sizeof frames - length, ";%s",
						   instruction->frames[k].function);
		/* Without a decoder, it is unknown what an instruction waits for. */
		snprintf(offset, sizeof offset, ";[unknown];sbid;0x%lx", instruction->offset);
		snprintf(frames + length, sizeof frames - length, "%s", offset);
		ck_assert_msg(sum(frames) >= i + 1, "%s", frames);
	}
	array_free(&instructions);
}

/* Under an instruction that waits for others stand those, for scoreboard stalls alone. */
static void check_producers(struct code_reader *reader, const struct iaprof_profile *profile,
			    const struct iaprof_value *value, size_t *checked)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
	const struct iaprof_frame *frames[64] = { 0 };
	ck_assert_uint_lt(stack->frame_count, 64);
	uint32_t count = stack->frame_count, producer_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		frames[i] = iaprof_profile_frame(profile, stack->frames[i]);
		producer_count += (frames[i]->flags & IAPROF_FRAME_PRODUCER) != 0;
	}
	const struct code_function *kernel = find_function(code_reader_object(reader), "matmul_tile");
	uint64_t address = kernel->address + frames[count - 1]->offset;
	struct iaprof_producer producers[64];
	uint32_t flags;
	size_t wanted = code_reader_producers(reader, address, producers, 64, &flags);
	if (!strcmp(frames[count - 2]->name, "active"))
		wanted = flags = 0;
	size_t shown = wanted < LOCATION_PRODUCERS_MAX ? wanted : LOCATION_PRODUCERS_MAX;
	ck_assert_uint_eq(producer_count, shown + (wanted > shown || flags));
	for (size_t i = 0; i < shown; i++) {
		const struct iaprof_frame *frame = frames[count - 2 - producer_count + i];
		struct code_place location;
		ck_assert(code_reader_find(reader, producers[i].offset, &location));
		ck_assert_str_eq(frame->name, location.instruction.mnemonic);
		ck_assert_uint_eq(frame->line, location.functions[location.function_count - 1].line);
		++*checked;
	}
	ck_assert_uint_eq(frames[count - 3 - producer_count]->kind, IAPROF_FRAME_DEVICE_INSTRUCTION);
	ck_assert_uint_eq(frames[count - 3 - producer_count]->flags & IAPROF_FRAME_PRODUCER, 0);
}

/* A decoder for the collector; decoders has its registry and services. */
static void begin_with_decoder(struct decoders *decoders)
{
	static struct instance_configuration wanted;
	wanted = (struct instance_configuration){ .plugin = getenv("INTEL_GT_PLUGIN") };
	struct error error = { 0 };
	ck_assert_ptr_nonnull(wanted.plugin);
	ck_assert_msg(decoders_add(decoders, &wanted, &error) == 0, "%s", error.text);
	collector_free(collector);
	collector = make_collector(true, decoders_finder(decoders));
	announce();
}

static void end_with_decoder(struct decoders *decoders)
{
	collector_free(collector);
	collector = NULL;
	decoders_release(decoders);
	registry_free(decoders->registry);
}

/* Samples that point into an instruction are no kernel's, although it covers them; those at its start are. */
TEST(samples_within_an_instruction_are_unmatched)
{
	struct registry registry = { 0 };
	struct instance_services services = { 0 };
	struct decoders decoders = { .registry = &registry, .services = &services };
	begin_with_decoder(&decoders);
	CLEANUP_FREE char *path = zebin_path("bmg/transformer", ".loaded-debug.elf");
	expected_instruction_array instructions = zebin_instructions("bmg/transformer");
	uint64_t halves = 0, starts = 0;
	take_object(10, path, BASE, SECOND);
	for (size_t i = 0; i < instructions.count; i += 7) {
		uint64_t address = device_address_plain(instructions.items[i].address) - BASE;
		take_relative(address, 1, 2 * SECOND, 3 * SECOND);
		starts += 2;
		if (instructions.items[i].size == 16) {
			take_relative(address + 8, 1, 2 * SECOND, 3 * SECOND);
			halves += 2;
		}
	}
	ck_assert_uint_gt(halves, 20);
	finish(starts, 0, halves);
	ck_assert_uint_eq(statistics().unmatched_reasons[UNMATCHED_NO_INSTRUCTION], halves);
	ck_assert_uint_eq(sum("-;[unknown device code]"), halves);
	array_free(&instructions);
	end_with_decoder(&decoders);
}

TEST(what_is_waited_for_is_under_who_waits)
{
	struct registry registry = { 0 };
	struct instance_services services = { 0 };
	struct decoders decoders = { .registry = &registry, .services = &services };
	begin_with_decoder(&decoders);
	CLEANUP_FREE char *path = zebin_path("bmg/transformer", ".loaded-debug.elf");
	expected_instruction_array instructions = zebin_instructions("bmg/transformer");
	take_object(10, path, BASE, SECOND);
	for (size_t i = 0; i < instructions.count; i++)
		if (!strcmp(instructions.items[i].kernel, "matmul_tile"))
			take_relative(device_address_plain(instructions.items[i].address) - BASE, 1, 2 * SECOND,
				      3 * SECOND);
	finish(samples_in, 0, 0);
	struct code_object *object = zebin_open("bmg/transformer", ".loaded-debug.elf");
	struct code_reader *reader = code_reader_new(object, decoders_find(&decoders, 205));
	struct snapshot *snapshot = collector_snapshot(collector, true);
	size_t checked = 0;
	for (size_t i = 0; i < snapshot->profile.value_count; i++)
		check_producers(reader, &snapshot->profile, iaprof_profile_value(&snapshot->profile, i), &checked);
	ck_assert_uint_gt(checked, 20);
	snapshot_release(snapshot);
	code_reader_free(reader);
	code_object_release(object);
	array_free(&instructions);
	end_with_decoder(&decoders);
}

TEST(absolute_addresses_and_several_bases)
{
	take_kernel(10, "low", BASE + 0x1000, SECOND);
	take_kernel(11, "high", BASE + (UINT64_C(1) << 32) + 0x2000, SECOND);
	take_relative(0x1000, 5, SECOND, 2 * SECOND);
	take_relative(0x2000, 7, SECOND, 2 * SECOND);
	take_stalls(BASE + 0x1000, IAPROF_ADDRESS_ABSOLUTE, 9, SECOND, 2 * SECOND);
	take_stalls(BASE + 0x2000, IAPROF_ADDRESS_ABSOLUTE, 11, SECOND, 2 * SECOND);
	take_stalls((BASE + 0x1000) | UINT64_C(0xffff) << 48, IAPROF_ADDRESS_ABSOLUTE, 13, SECOND, 2 * SECOND);
	finish(2 * (5 + 7 + 9 + 13), 0, 22);
	ck_assert_uint_eq(sum("first;-;low"), 2 * (5 + 9 + 13));
	ck_assert_uint_eq(sum("second;-;high"), 14);
}

TEST(a_program_that_ended_still_gets_its_samples)
{
	take_process(20, IAPROF_PROCESS_FORK, "short", SECOND);
	uint32_t kernel = take_kernel(20, "add", BASE + 0x1000, SECOND + MILLISECOND);
	take_launches(20, kernel, 'c', 4, SECOND + 2 * MILLISECOND, SECOND + 20 * MILLISECOND);
	take_process(20, IAPROF_PROCESS_EXIT, "", SECOND + 40 * MILLISECOND);
	take_relative(0x1000, 6, SECOND + MILLISECOND, SECOND + 30 * MILLISECOND);
	tell(2 * SECOND);
	synchronize(2 * SECOND);
	/* Another one gets its pid, and is at the same addresses. */
	take_process(20, IAPROF_PROCESS_FORK, "next", 3 * SECOND);
	uint32_t next = take_kernel(20, "subtract", BASE + 0x1000, 3 * SECOND);
	take_launches(20, next, 'd', 4, 3 * SECOND, 4 * SECOND);
	take_relative(0x1000, 8, 3 * SECOND, 4 * SECOND);
	for (uint64_t time = 5 * SECOND; time < 30 * SECOND; time += SECOND)
		synchronize(time);
	take_relative(0x1000, 10, 31 * SECOND, 32 * SECOND);
	finish(samples_in, 0, 0);
	ck_assert_uint_eq(sum("short;site_c;-;add"), 12);
	ck_assert_uint_eq(sum("next;site_d;-;subtract"), 36);
}

static const char *metadata(const struct iaprof_profile *profile, const char *key)
{
	for (const char *const *pair = profile->metadata; *pair; pair += 2)
		if (!strcmp(pair[0], key))
			return pair[1];
	return "";
}

/* Each of several cards of one model has an account of its own, in what sinks write as well. */
TEST(devices_of_one_name_are_distinguished)
{
	const char *const addresses[] = { "0000:03:00.0", "0000:04:00.0" };
	for (uint32_t i = 0; i < 2; i++) {
		struct iaprof_record_device device = { .id = i + 2,
						       .name = text("Intel Arc B580 GT 0"),
						       .address = text(addresses[i]) };
		take(STALLS, &device, IAPROF_RECORD_DEVICE, sizeof device, 0);
	}
	for (uint32_t device = 1; device <= 3; device++) {
		struct {
			struct iaprof_record_stall_sample head;
			uint64_t counts[1];
		} record = { .head = { .begin = start, .address = 8, .device = device, .reason_count = 1 },
			     .counts = { 10 * device } };
		take(STALLS, &record, IAPROF_RECORD_STALL_SAMPLE, sizeof record, SECOND);
	}
	collector_finish(collector);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	const struct iaprof_profile *profile = &snapshot->profile;
	ck_assert_ptr_nonnull(strstr(metadata(profile, "samples of GPU 1"), "10 samples"));
	ck_assert_ptr_nonnull(
		strstr(metadata(profile, "samples of Intel Arc B580 GT 0 at 0000:03:00.0"), "20 samples"));
	ck_assert_ptr_nonnull(
		strstr(metadata(profile, "samples of Intel Arc B580 GT 0 at 0000:04:00.0"), "30 samples"));
	snapshot_release(snapshot);
}

/* A replay cannot tell otherwise to which interval they belong: other records come between a SYNC and them. */
TEST(values_have_the_time_of_their_sync)
{
	uint32_t kernel = take_kernel(10, "add", BASE + 0x1000, SECOND);
	take_launches(10, kernel, 'a', 3, SECOND, 2 * SECOND);
	for (uint64_t second = 2; second <= 4; second++) {
		take_relative(0x1010, second, (second - 1) * SECOND, second * SECOND);
		tell(second * SECOND);
		if (second < 4)
			synchronize(second * SECOND + MILLISECOND);
	}
	collector_finish(collector);
	uint64_t values[3] = { 0 };
	for (struct block *block = collector_take_results(collector), *next; block; block = next) {
		struct iaprof_batch batch = block_batch(block);
		for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));) {
			if (record->type != IAPROF_RECORD_PROFILE_VALUE)
				continue;
			bool is_first = record->time == start + 2 * SECOND + MILLISECOND;
			bool is_second = record->time == start + 3 * SECOND + MILLISECOND;
			ck_assert(is_first || is_second || record->time > start + 3 * SECOND + MILLISECOND);
			values[is_first    ? 0
			       : is_second ? 1
					   : 2] += ((const struct iaprof_record_profile_value *)record)->value;
		}
		next = block->next;
		block_release(block);
	}
	for (size_t i = 0; i < 3; i++)
		ck_assert_uint_eq(values[i], 2 * (i + 2));
}

TEST(a_replay_gives_the_same_profile)
{
	two_processes();
	take_activity(10, IAPROF_ACTIVITY_SCHEDULER, 2, NULL, SECOND, 2 * SECOND);
	take_activity(11, IAPROF_ACTIVITY_SCHEDULER, 1, NULL, SECOND, 2 * SECOND);
	take_relative(0x1000, 300, SECOND, 2 * SECOND);
	take_relative(0x8000, 3, SECOND, 2 * SECOND);
	collector_finish(collector);
	struct collector *replay = make_collector(false, NULL);
	replay_results(collector, replay);
	const char *const all[] = { "-", "first;site_a;-;[ambiguous];add;sbid;0x0", "second;site_b;-;[ambiguous]",
				    "[unknown];-;[unknown device code];active;0x8000" };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		ck_assert_uint_gt(sum(all[i]), 0);
		ck_assert_uint_eq(sum_of(replay, all[i]), sum(all[i]));
	}
	struct snapshot *live = collector_snapshot(collector, true), *again = collector_snapshot(replay, true);
	/* One second in slots of 20 ms, but for where in one the history begins. */
	size_t slots = live->profile.time_total_count;
	ck_assert(slots == 50 || slots == 51);
	ck_assert_uint_eq(again->profile.time_total_count, slots);
	for (size_t i = 0; i < slots; i++)
		ck_assert_uint_eq(iaprof_profile_time_total(&live->profile, i)->value,
				  iaprof_profile_time_total(&again->profile, i)->value);
	snapshot_release(live);
	snapshot_release(again);
	collector_free(replay);
}

/* Intervals of samples overlap slightly, but their times do not. */
TEST(overlapping_intervals_are_not_busier)
{
	for (uint64_t i = 1; i <= 10; i++)
		take_relative(0x8000, 50, SECOND + i * 100 * MILLISECOND - 15 * MILLISECOND,
			      SECOND + (i + 1) * 100 * MILLISECOND);
	collector_finish(collector);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	uint64_t most = 0, sum = 0;
	for (size_t i = 0; i < snapshot->profile.time_total_count; i++) {
		uint64_t value = iaprof_profile_time_total(&snapshot->profile, i)->value;
		most = value > most ? value : most;
		sum += value;
	}
	uint64_t all = samples_in;
	ck_assert_uint_eq(sum, all);
	/* Slots of 20 ms; parts are whole numbers. */
	ck_assert_uint_le(most, all / 50 + 3);
	snapshot_release(snapshot);
}

/* Of anything in any order nothing is lost or made up. */
TEST_LOOP(totals_are_kept_whatever_comes, 0, 20)
{
	srandom((unsigned)_i + 1);
	for (uint32_t i = 0; i < 3000; i++) {
		uint64_t time = (uint64_t)i * 10 * MILLISECOND + (uint64_t)(random() % 400) * MILLISECOND;
		uint64_t earlier = time - time / (1 + (uint64_t)(random() % 50));
		uint32_t pid = 10 + (uint32_t)(random() % 4);
		switch (random() % 8) {
		case 0:
			take_kernel(pid, random() % 2 ? "add" : "multiply", BASE + (uint64_t)(random() % 8) * 0x800,
				    time);
			break;
		case 1:
		case 2:
			take_launches(pid, 1 + (uint32_t)(random() % 20), (char)('a' + random() % 5),
				      1 + (uint64_t)(random() % 9), earlier, time);
			break;
		case 3:
			take_activity(pid, 1 + (uint32_t)(random() % 2), 1 + (uint64_t)(random() % 1000), NULL, earlier,
				      time);
			break;
		case 4:
			take_process(pid, 2 + (uint32_t)(random() % 4), "program", time);
			break;
		case 5:
			tell(time);
			synchronize(time);
			break;
		default:
			take_relative((uint64_t)(random() % 0x5000), (uint64_t)(random() % 20), earlier, time);
		}
	}
	collector_finish(collector);
	struct device_samples became = statistics();
	ck_assert_uint_eq(became.samples, samples_in);
	ck_assert_uint_eq(became.matched + became.ambiguous + became.unmatched, samples_in);
	ck_assert_uint_eq(sum("-"), samples_in);
	ck_assert_uint_eq(sum("-;[ambiguous]"), became.ambiguous);
	ck_assert_uint_eq(sum("-;[unknown device code]"), became.unmatched);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
