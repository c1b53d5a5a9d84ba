/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stall samples that name their GPU kernel, launch, value type and period, jobs that have a kernel, and sources that
 * state how far they have come.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "correlator/kernel_code.h"
#include "correlator_history.h"
#include "device/zebin_fixture.h"
#include "stacks/value_label.h"
#include "symbolizer/device/device_address.h"
#include "../run_suite.h"

struct named_sample {
	struct iaprof_record_stall_sample head;
	uint64_t counts[2];
	struct iaprof_record_stall_details details;
};

/* count samples of each of the two reasons, at an offset in a kernel. */
static struct named_sample named(uint32_t kernel, uint64_t offset, uint64_t count, uint64_t from)
{
	return (struct named_sample){ .head = { .begin = start + from,
						.address = offset,
						.device = 1,
						.address_space = IAPROF_ADDRESS_KERNEL,
						.reason_count = 2,
						.pid = 10 },
				      .counts = { count, count },
				      .details = { .size = sizeof(struct iaprof_record_stall_details),
						   .kernel = kernel } };
}

/* The kernels' ids are those of their source. */
static void take_named(struct named_sample sample, uint64_t to)
{
	samples_in += sample.counts[0] + sample.counts[1];
	take(LAUNCHES, &sample, IAPROF_RECORD_STALL_SAMPLE, sizeof sample, to);
}

/* address: 0: none */
static uint32_t take_kernel_at(const char *name, uint32_t object, uint64_t address, uint64_t time)
{
	struct iaprof_record_kernel record = { .id = ++kernel_count,
					       .code_object = object,
					       .pid = 10,
					       .name = text(name),
					       .address = address,
					       .size = address ? 64 : 0 };
	take(LAUNCHES, &record, IAPROF_RECORD_KERNEL, sizeof record, time);
	return record.id;
}

/* A kernel without an address. */
static uint32_t take_named_kernel(const char *name, uint32_t object, uint64_t time)
{
	return take_kernel_at(name, object, 0, time);
}

static void take_numbered_launch(uint32_t kernel, char site, uint64_t correlation, uint64_t time)
{
	uint64_t address = UINT64_C(0xffffffff81000000) + (uint64_t)(site - 'a') * 0x100 + 4;
	struct iaprof_record_launch record = { .kernel = kernel,
					       .pid = 10,
					       .kernel_stack = intern_stack(intern, 0, &address, 1),
					       .count = 1,
					       .first_time = start + time,
					       .correlation = correlation };
	take(LAUNCHES, &record, IAPROF_RECORD_LAUNCH, sizeof record, time);
}

/* As host->declare_value_type(). */
static uint32_t take_value_type(const char *name, const char *unit)
{
	struct iaprof_record_value_type record = { .id = intern_value_type(intern, name, unit),
						   .name = text(name),
						   .unit = text(unit) };
	take(LAUNCHES, &record, IAPROF_RECORD_VALUE_TYPE, sizeof record, 0);
	return record.id;
}

/* Ends the run, and returns a replay of its results; the value type is a record of the source. */
static struct collector *end_and_replay(const char *name, const char *unit)
{
	struct collector *run = collector, *replay = make_collector(false, NULL);
	collector = replay;
	take_value_type(name, unit);
	collector = run;
	collector_finish(run);
	replay_results(run, replay);
	return replay;
}

/* Returns the value of a type under the stacks whose frames are exactly these; NULL: under all. */
static uint64_t value_under(struct collector *of, const char *type, const char *wanted)
{
	struct snapshot *snapshot = collector_snapshot(of, true);
	const struct iaprof_profile *profile = &snapshot->profile;
	uint64_t sum = 0;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
		char names[1024] = "";
		for (uint32_t k = 0; k < stack->frame_count; k++) {
			strcat(names, k ? ";" : "");
			strcat(names, iaprof_profile_frame(profile, stack->frames[k])->name);
		}
		if (!strcmp(iaprof_profile_value_type(profile, value->value_type)->name, type) &&
		    (!wanted || !strcmp(names, wanted)))
			sum += value->value;
	}
	snapshot_release(snapshot);
	return sum;
}

/* Returns the number of events lost for a reason. */
static uint64_t lost_for(const char *reason)
{
	struct snapshot *snapshot = collector_snapshot(collector, true);
	uint64_t count = 0;
	for (size_t i = 0; i < snapshot->profile.lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(&snapshot->profile, i);
		count += strcmp(lost->reason, reason) ? 0 : lost->count;
	}
	snapshot_release(snapshot);
	return count;
}

TEST(a_kernel_and_an_offset_need_no_address)
{
	uint32_t kernel = take_named_kernel("_Z3addi", 0, SECOND);
	take_launches(10, kernel, 'a', 3, SECOND, 2 * SECOND);
	take_named(named(kernel, 0x10, 50, SECOND), 2 * SECOND);
	take_named(named(kernel + 1, 0x10, 1, SECOND), 2 * SECOND); /* not announced */
	struct named_sample other = named(kernel, 0x10, 2, SECOND);
	other.head.pid = 11; /* does not have this kernel */
	take_named(other, 2 * SECOND);
	collector_finish(collector);
	ck_assert_uint_eq(value_under(collector, "gpu-stalls", "first;site_a;-;add;active;0x10"), 50);
	ck_assert_uint_eq(value_under(collector, "gpu-stalls", "first;site_a;-;add;sbid;0x10"), 50);
	ck_assert_uint_eq(sum("-;[unknown device code]"), 6);
	ck_assert_uint_eq(sum("-"), samples_in);
}

TEST(kernels_of_one_name_in_two_modules_stay_apart)
{
	uint32_t kernels[] = { take_named_kernel("add", 1, SECOND), take_named_kernel("add", 2, SECOND) };
	take_launches(10, kernels[0], 'a', 3, SECOND, 2 * SECOND);
	take_launches(10, kernels[1], 'b', 1, SECOND, 2 * SECOND);
	take_named(named(kernels[0], 0, 10, SECOND), 2 * SECOND);
	take_named(named(kernels[1], 0, 4, SECOND), 2 * SECOND);
	collector_finish(collector);
	ck_assert_uint_eq(sum("first;site_a;-;add"), 20);
	ck_assert_uint_eq(sum("first;site_b;-;add"), 8);
	ck_assert_uint_eq(sum("-;[ambiguous]"), 0);
}

TEST(launches_of_a_name_count_for_all_its_kernels)
{
	uint32_t launched = take_named_kernel("add", 0, SECOND), other = take_named_kernel("other", 0, SECOND);
	uint32_t kernels[] = { take_named_kernel("add", 1, SECOND), take_named_kernel("add", 2, SECOND) };
	take_launches(10, launched, 'a', 1, SECOND, SECOND);
	take_launches(10, other, 'c', 1, SECOND, SECOND);
	take_launches(10, kernels[1], 'b', 1, SECOND, SECOND);
	take_named(named(kernels[0], 0, 10, SECOND), 2 * SECOND);
	take_named(named(kernels[1], 0, 4, SECOND), 2 * SECOND);
	collector_finish(collector);
	ck_assert_uint_eq(sum("first;site_a;-;add"), 20 + 4);
	ck_assert_uint_eq(sum("first;site_b;-;add"), 4);
}

TEST(the_code_of_a_kernel_is_found_in_its_image_by_name)
{
	CLEANUP_FREE char *path = zebin_path("bmg/transformer", ".loaded-debug.elf");
	expected_place_array functions = zebin_functions(path);
	ck_assert_uint_gt(functions.count, 0);
	uint32_t object = take_object(10, path, BASE, SECOND);
	uint32_t kernel = take_named_kernel(functions.items[0].name, object, SECOND);
	uint64_t size = functions.items[0].size;
	take_launches(10, kernel, 'a', 3, SECOND, 2 * SECOND);
	take_unload(10, object, 2 * SECOND);
	take_process(10, IAPROF_PROCESS_EXIT, "first", 3 * SECOND);
	take_named(named(kernel, 0, 50, SECOND), 4 * SECOND); /* samples may come after both */
	take_named(named(kernel, size + 64, 3, SECOND), 4 * SECOND);
	collector_finish(collector);
	char frames[512];
	snprintf(frames, sizeof frames, "first;site_a;-;%s;active;0x0", functions.items[0].name);
	ck_assert_uint_eq(sum(frames), 50);
	ck_assert_uint_eq(sum("-;[unknown device code]"), 6);
	array_free(&functions);
}

TEST(kernels_of_unloaded_objects_make_room)
{
	uint32_t kept = take_named_kernel("kept", 0, SECOND), kernel = 0;
	for (uint32_t i = 0; i < 3 * KERNEL_CODE_CROWDED_MIN; i++) {
		uint64_t time =
			SECOND + i * 5 * MILLISECOND; /* they are forgotten half a minute after it was noticed */
		uint32_t object = take_object(10, "/nothing/here", 0, time);
		kernel = take_named_kernel("add", object, time);
		take_unload(10, object, time);
	}
	take_named(named(kept, 0, 1, 60 * SECOND), 60 * SECOND);
	take_named(named(kernel, 0, 1, 60 * SECOND), 60 * SECOND);
	collector_finish(collector);
	ck_assert_uint_eq(sum("-;kept"), 2);
	ck_assert_uint_eq(sum("-;add"), 2);
}

TEST(a_sample_belongs_to_the_launch_that_it_names)
{
	uint32_t kernel = take_named_kernel("add", 0, SECOND);
	uint32_t addressed = take_kernel(10, "multiply", BASE + 0x1000, SECOND);
	for (uint64_t i = 0; i < 3; i++)
		take_numbered_launch(kernel, (char)('a' + i), 7 + i, SECOND);
	take_numbered_launch(addressed, 'd', 20, SECOND);
	take_numbered_launch(addressed, 'e', 21, SECOND);
	struct named_sample sample = named(kernel, 0, 10, SECOND);
	sample.details.correlation = 8;
	take_named(sample, 2 * SECOND);
	sample = named(0, 0x1010, 5, SECOND); /* by address, and with a launch */
	sample.head.address_space = IAPROF_ADDRESS_ABSOLUTE;
	sample.head.address += BASE;
	sample.details.correlation = 21;
	take_named(sample, 2 * SECOND);
	sample = named(kernel + 50, 0, 1, SECOND); /* unknown code has a launch, too */
	sample.details.correlation = 9;
	take_named(sample, 2 * SECOND);
	collector_finish(collector);
	ck_assert_uint_eq(sum("first;site_b;-;add"), 20);
	ck_assert_uint_eq(sum("first;site_e;-;multiply"), 10);
	ck_assert_uint_eq(sum("first;site_c;-;[unknown device code]"), 2);
	ck_assert_uint_eq(sum("-"), samples_in);
}

TEST(a_number_that_is_not_known_leaves_all_launches)
{
	uint32_t kernel = take_named_kernel("add", 0, SECOND);
	take_numbered_launch(kernel, 'a', 7, SECOND);
	take_numbered_launch(kernel, 'b', 7, 1100 * MILLISECOND); /* used again */
	take_numbered_launch(kernel, 'a', 0, 1200 * MILLISECOND);
	struct named_sample sample = named(kernel, 0, 30, SECOND);
	sample.details.correlation = 99;
	take_named(sample, 2 * SECOND);
	sample.details.correlation = 7;
	take_named(sample, 2 * SECOND);
	collector_finish(collector);
	ck_assert_uint_eq(sum("first;site_a;-;add"), 40); /* two launches of three */
	ck_assert_uint_eq(sum("first;site_b;-;add"), 20 + 60);
}

TEST(samples_have_the_value_type_and_period_that_they_state)
{
	uint32_t kernel = take_named_kernel("add", 0, SECOND);
	take_launches(10, kernel, 'a', 3, SECOND, 2 * SECOND);
	struct named_sample sample = named(kernel, 0, 5, SECOND);
	sample.details.value_type = take_value_type("gpu-cycles", "cycles");
	sample.details.period = 1 << 20;
	take_named(sample, 2 * SECOND);
	sample.details.period = 0;
	take_named(sample, 2 * SECOND);
	sample.details.value_type = 12345; /* nobody declared it */
	take_named(sample, 2 * SECOND);
	take_named(named(kernel, 0, 7, SECOND), 2 * SECOND);
	struct collector *replay = end_and_replay("gpu-cycles", "cycles");
	ck_assert_uint_eq(value_under(collector, "gpu-cycles", NULL), 10 * (1 << 20) + 10);
	ck_assert_uint_eq(value_under(replay, "gpu-cycles", "first;site_a;-;add;sbid;0x0"), 5 * (1 << 20) + 5);
	ck_assert_uint_eq(sum("-"), 14);
	ck_assert_uint_eq(lost_for(COLLECTOR_REASON_VALUE_TYPE), 10);
	collector_free(replay);
}

/* A third of a nanosecond for each sample: what is divided among reasons and launches adds up to what was stated. */
TEST(samples_have_the_value_that_they_state_for_all)
{
	uint32_t kernel = take_named_kernel("add", 0, SECOND);
	take_launches(10, kernel, 'a', 1, SECOND, 2 * SECOND);
	take_launches(10, kernel, 'b', 2, SECOND, 2 * SECOND);
	struct named_sample sample = named(kernel, 0, 9, SECOND);
	sample.details.value_type = take_value_type("gpu-cycles", "nanoseconds");
	sample.details.period = 100;
	sample.details.value = 6;
	take_named(sample, 2 * SECOND);
	sample.details.value = 7;
	take_named(sample, 2 * SECOND);
	sample.details.size = IAPROF_STALL_DETAILS_SIZE_MIN; /* of an older source, which has no such member */
	take_named(sample, 2 * SECOND);
	struct collector *replay = end_and_replay("gpu-cycles", "nanoseconds");
	ck_assert_uint_eq(value_under(collector, "gpu-cycles", NULL), 6 + 7 + 18 * 100);
	ck_assert_uint_eq(value_under(replay, "gpu-cycles", NULL), 6 + 7 + 18 * 100);
	ck_assert_uint_eq(value_under(replay, "gpu-cycles", "first;site_b;-;add;sbid;0x0"), 2 + 2 + 6 * 100);
	collector_free(replay);
}

TEST(details_that_contradict_the_address_space_are_counted_as_lost)
{
	uint32_t kernel = take_named_kernel("add", 0, SECOND);
	struct named_sample wrong[5];
	for (size_t i = 0; i < 5; i++)
		wrong[i] = named(kernel, 0, 1, SECOND);
	wrong[0].details.kernel = 0;
	wrong[1].head.address_space = IAPROF_ADDRESS_ABSOLUTE;
	wrong[2].head.address_space = 3;
	wrong[3].head.pid = 0;
	wrong[3].details.correlation = 1;
	wrong[4].details.size = 8;
	for (size_t i = 0; i < 5; i++)
		take_named(wrong[i], 2 * SECOND);
	collector_finish(collector);
	ck_assert_uint_eq(lost_for(COLLECTOR_REASON_STALL_DETAILS), 10);
	ck_assert_uint_eq(sum("-"), 0);
}

static void take_job(const struct iaprof_record_job *job, size_t size, uint64_t end)
{
	struct iaprof_record_job record = *job;
	record.state = IAPROF_JOB_DONE;
	record.pid = 10;
	take(LAUNCHES, &record, IAPROF_RECORD_JOB, size, end);
}

TEST(jobs_that_represent_others_are_an_estimate)
{
	uint32_t add = take_named_kernel("_Z3addi", 0, SECOND);
	take_numbered_launch(add, 'a', 1, SECOND);
	struct iaprof_record_job job = { .started = start + SECOND,
					 .kernel = add,
					 .time_type = take_value_type("gpu-time", "nanoseconds"),
					 .correlation = 1 };
	take_job(&job, sizeof job, SECOND + 50);
	job.started += 1000;
	job.represents = 3;
	take_job(&job, sizeof job, SECOND + 1100);
	struct collector *replay = end_and_replay("gpu-time", "nanoseconds"), *both[] = { collector, replay };
	for (size_t i = 0; i < 2; i++) {
		struct snapshot *snapshot = collector_snapshot(both[i], true);
		struct text labels = { 0 };
		for (uint32_t type = 0; type < snapshot->profile.value_type_count; type++)
			value_type_append_words(&labels, iaprof_profile_value_type(&snapshot->profile, type));
		/* Idle time is found again from jobs, which this replay does not have. */
		ck_assert_str_eq(text_string(&labels),
				 i ? "GPU time (estimated)" : "GPU time (estimated)device idle time (estimated)");
		text_free(&labels);
		snapshot_release(snapshot);
		ck_assert_uint_eq(value_under(both[i], "gpu-time", "first;site_a;-;add"), 50 + 3 * 100);
	}
	ck_assert_uint_eq(value_under(collector, "device-idle-time", NULL), 1100 - 350);
	collector_free(replay);
}

TEST(what_jobs_overlap_is_a_value_of_its_own)
{
	uint32_t add = take_named_kernel("_Z3addi", 0, SECOND), time = take_value_type("gpu-time", "nanoseconds");
	struct iaprof_record_job job = { .kernel = add, .time_type = time };
	for (job.correlation = 1; job.correlation <= 3; job.correlation++) {
		take_numbered_launch(add, (char)('a' + job.correlation - 1), job.correlation, SECOND);
		job.started = start + SECOND + (job.correlation - 1) * 60;
		take_job(&job, sizeof job, SECOND + (job.correlation - 1) * 60 + 100);
	}
	struct collector *replay = end_and_replay("gpu-time", "nanoseconds"), *both[] = { collector, replay };
	/* Alone for 60, 20 and 60 ns; twice, two share 40 ns. */
	for (size_t i = 0; i < 2; i++) {
		ck_assert_uint_eq(value_under(both[i], "gpu-time", "first;site_a;-;add"), 80);
		ck_assert_uint_eq(value_under(both[i], "gpu-time", "first;site_b;-;add"), 60);
		ck_assert_uint_eq(value_under(both[i], "device-overlap", "first;site_a;-;add"), 20);
		ck_assert_uint_eq(value_under(both[i], "device-overlap", "first;site_b;-;add"), 40);
		ck_assert_uint_eq(value_under(both[i], "device-overlap", "first;site_c;-;add"), 20);
	}
	collector_free(replay);
}

/* A kernel runs from 0 to 100 ns and from 150 to 200; copies do not change its time nor what was idle. */
TEST(copies_are_no_part_of_the_time_of_their_device)
{
	uint32_t add = take_named_kernel("_Z3addi", 0, SECOND),
		 copy = take_named_kernel("[copy host to device]", 0, SECOND);
	uint32_t time = take_value_type("gpu-time", "nanoseconds"),
		 copies = take_value_type("gpu-copy-time", "nanoseconds");
	struct iaprof_record_job job = { .started = start + SECOND, .kernel = add, .time_type = time };
	struct iaprof_record_job copied = {
		.started = start + SECOND + 10, .kernel = copy, .time_type = copies, .copy = IAPROF_COPY_HOST_TO_DEVICE
	};
	for (copied.correlation = 1; copied.correlation <= 2; copied.correlation++) {
		take_numbered_launch(copy, (char)('a' + copied.correlation - 1), copied.correlation, SECOND);
		copied.bytes = 1000 * copied.correlation;
		take_job(&copied, sizeof copied, SECOND + 90);
	}
	copied.correlation = 2;
	copied.started += 1000;
	copied.copy = IAPROF_COPY_DEVICE_TO_HOST;
	copied.bytes = 5;
	take_job(&job, sizeof job, SECOND + 100);
	job.started += 150;
	take_job(&job, offsetof(struct iaprof_record_job, copy), SECOND + 200);
	take_job(&copied, sizeof copied, SECOND + 1300);
	struct collector *replay = end_and_replay("gpu-time", "nanoseconds"), *both[] = { collector, replay };
	for (size_t i = 0; i < 2; i++) {
		ck_assert_uint_eq(value_under(both[i], "gpu-time", NULL), 150);
		ck_assert_uint_eq(value_under(both[i], "device-overlap", NULL), 0);
		ck_assert_uint_eq(value_under(both[i], "gpu-copy-time", "first;site_a;-;[copy host to device]"), 40);
		ck_assert_uint_eq(value_under(both[i], "device-copied", "first;site_a;-;[copy host to device]"), 1000);
		ck_assert_uint_eq(value_under(both[i], "device-copied", "first;site_b;-;[copy host to device]"), 2005);
		ck_assert_uint_eq(value_under(both[i], "device-copy-overlap", NULL), 80);
		ck_assert_uint_eq(value_under(both[i], "gpu-copy-time", NULL), 80 + 290);
		ck_assert_uint_eq(value_under(both[i], "device-copied", NULL), 3005);
	}
	ck_assert_uint_eq(value_under(collector, "device-idle-time", NULL), 50);
	collector_free(replay);
}

TEST(jobs_are_device_time_by_kernel)
{
	uint32_t add = take_named_kernel("_Z3addi", 0, SECOND), other = take_kernel(10, "other", BASE, SECOND);
	uint32_t time = take_value_type("gpu-time", "nanoseconds");
	take_numbered_launch(add, 'a', 1, SECOND);
	take_numbered_launch(add, 'b', 2, SECOND);
	take_launches(10, other, 'c', 1, SECOND, SECOND);
	struct iaprof_record_job job = { .started = start + SECOND, .kernel = other, .time_type = time };
	take_job(&job, sizeof job, SECOND + 50);
	job.kernel = add;
	for (job.correlation = 1; job.correlation <= 2; job.correlation++) {
		job.started = start + SECOND + job.correlation * 10000;
		take_job(&job, sizeof job, SECOND + job.correlation * 11000);
	}
	job.correlation = 0;
	job.kernel = other;
	job.started = start + SECOND;
	take_job(&job, sizeof job, SECOND);                                       /* took no time */
	take_job(&job, offsetof(struct iaprof_record_job, kernel), SECOND + 100); /* a shorter record */
	job.started = 0;
	take_job(&job, sizeof job, SECOND + 100);
	job.started = start + 2 * SECOND;
	take_job(&job, sizeof job, SECOND + 100);
	job.started = start + SECOND;
	job.time_type = 12345;
	take_job(&job, sizeof job, SECOND + 100);
	job.time_type = 0;
	take_job(&job, sizeof job, SECOND + 100);
	struct collector *replay = end_and_replay("gpu-time", "nanoseconds"), *both[] = { collector, replay };
	for (size_t i = 0; i < 2; i++) {
		ck_assert_uint_eq(value_under(both[i], "gpu-time", "first;site_a;-;add"), 1000);
		ck_assert_uint_eq(value_under(both[i], "gpu-time", "first;site_b;-;add"), 2000);
		ck_assert_uint_eq(value_under(both[i], "gpu-time", "first;site_c;-;other"), 50);
		ck_assert_uint_eq(value_under(both[i], "gpu-time", NULL), 3050);
	}
	ck_assert_uint_eq(lost_for(COLLECTOR_REASON_JOB_START), 2);
	ck_assert_uint_eq(lost_for(COLLECTOR_REASON_JOB_TYPE), 1);
	collector_free(replay);
}

/* Writes the source file and the kernel of a stack. */
static void kernel_of(char *text, size_t size, const struct iaprof_profile *profile, uint32_t index)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, index);
	const char *source = "";
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, stack->frames[i]);
		if (frame->kind == IAPROF_FRAME_DEVICE_SOURCE)
			source = frame->name;
		if (frame->kind == IAPROF_FRAME_DEVICE_FUNCTION && !(frame->flags & IAPROF_FRAME_INLINED))
			snprintf(text, size, "%s;%s in %s", source, frame->name, frame->file ? frame->file : "");
	}
}

/* By the name of a kernel in an image, and by its address; the second kernel has no samples. */
TEST_LOOP(a_job_has_the_source_file_of_samples, 0, 2)
{
	CLEANUP_FREE char *path = zebin_path("bmg/transformer", ".loaded-debug.elf");
	expected_place_array sections = zebin_sections(path);
	uint32_t object = take_object(10, path, BASE, SECOND), time = take_value_type("gpu-time", "nanoseconds");
	static const char *const names[] = { "matmul_tile", "histogram" };
	for (uint32_t i = 0; i < 2; i++) {
		size_t section = 0;
		while (strcmp(sections.items[section].name + strlen(".text."), names[i]) != 0)
			section++;
		uint64_t address = device_address_plain(sections.items[section].address);
		uint32_t kernel = take_kernel_at(names[i], object, _i ? address : 0, SECOND);
		take_numbered_launch(kernel, 'a', i + 1, SECOND);
		struct iaprof_record_job job = {
			.started = start + SECOND + i * 1000, .kernel = kernel, .time_type = time, .correlation = i + 1
		};
		take_job(&job, sizeof job, SECOND + i * 1000 + 100);
		struct named_sample sample = named(_i ? 0 : kernel, _i ? address : 0, 50, SECOND);
		sample.head.address_space = _i ? IAPROF_ADDRESS_ABSOLUTE : IAPROF_ADDRESS_KERNEL;
		sample.details.correlation = 1;
		if (!i)
			take_named(sample, 2 * SECOND);
	}
	collector_finish(collector);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	char of_samples[256] = "", of_sampled_time[256] = "", of_time[256] = "";
	for (size_t i = 0; i < snapshot->profile.value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(&snapshot->profile, i);
		const struct iaprof_stack *stack = iaprof_profile_stack(&snapshot->profile, value->stack);
		const struct iaprof_frame *leaf =
			iaprof_profile_frame(&snapshot->profile, stack->frames[stack->frame_count - 1]);
		uint32_t role = iaprof_profile_value_type(&snapshot->profile, value->value_type)->role;
		char *text = role == IAPROF_VALUE_DEVICE_SAMPLES        ? of_samples
			     : role != IAPROF_VALUE_DEVICE_TIME         ? NULL
			     : leaf->kind == IAPROF_FRAME_DEVICE_OFFSET ? of_sampled_time
									: of_time;
		if (text)
			kernel_of(text, 256, &snapshot->profile, value->stack);
	}
	ck_assert_str_eq(of_samples, "/tmp/kernels/transformer.cl;matmul_tile in /tmp/kernels/transformer.cl");
	ck_assert_str_eq(of_sampled_time, of_samples); /* it was divided among them */
	ck_assert_str_eq(of_time, "/tmp/kernels/transformer.cl;histogram in /tmp/kernels/transformer.cl");
	snapshot_release(snapshot);
	array_free(&sections);
}

static void advance(uint64_t time)
{
	struct iaprof_record_progress record = { 0 };
	take(LAUNCHES, &record, IAPROF_RECORD_PROGRESS, sizeof record, time);
}

TEST(samples_wait_for_the_progress_that_their_source_states)
{
	uint32_t kernel = take_named_kernel("add", 0, SECOND);
	take_launches(10, kernel, 'a', 1, SECOND, SECOND);
	take_named(named(kernel, 0, 1, SECOND), 2 * SECOND);
	tell(3 * SECOND);
	advance(1900 * MILLISECOND); /* counts from now on, instead of counter values */
	tell(3 * SECOND);
	synchronize(3 * SECOND);
	collector_resolve(collector);
	ck_assert_uint_eq(sum("-"), 0);
	advance(2 * SECOND);
	advance(SECOND);
	synchronize(3100 * MILLISECOND);
	collector_resolve(collector);
	ck_assert_uint_eq(sum("first;site_a;-;add"), 2);
}

/* One source sends everything. */
static void set_up_one_source(void)
{
	set_up();
	for (uint32_t i = 0; i < 2; i++) {
		struct iaprof_record_stall_reason reason = { .id = i, .name = text(i ? "sbid" : "active") };
		take(LAUNCHES, &reason, IAPROF_RECORD_STALL_REASON, sizeof reason, 0);
	}
}

int main(void)
{
	return run_all_tests(0, set_up_one_source, tear_down);
}
