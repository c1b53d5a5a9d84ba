/* SPDX-License-Identifier: Apache-2.0 */
/* Structs as bytes: the copy has everything that the original has, none of it in the original's memory. */
#include <check.h>
#include <iaprof/host.h>
#include <iaprof/profile.h>
#include <iaprof/unwind.h>

#include "run/isolation/message.h"
#include "run/isolation/packing.h"
#include "../run_suite.h"

static struct string_table texts;
static struct unpacked unpacked;

static const uint32_t frame_ids[] = { 0, 1 };
static const struct iaprof_frame frames[] = { { .name = "main", .module = "/bin/x", .file = "x.c", .line = 7 },
					      { .name = "left", .module = NULL, .address = 0x1234 } };
static const struct iaprof_stack stacks[] = {
	{ .frames = frame_ids, .frame_count = 2, .origin = { .thread = "worker", .device = NULL, .tid = 5 } },
	{ .frames = frame_ids + 1, .frame_count = 1, .origin = { .thread = "worker", .device = "GPU" } }
};
static const struct iaprof_value_type value_types[] = { { .name = "cpu", .unit = "nanoseconds", .period = 10 } };
static const struct iaprof_value values[] = { { .stack = 0, .value = 3, .count = 1 }, { .stack = 1, .value = 4 } };
static const struct iaprof_lost lost[] = { { .source = "source", .reason = "full", .count = 9 } };
static const char *const metadata[] = { "key", "value", "empty", "", NULL };
static const struct iaprof_time_value times[] = { { .time = 1, .value = 2 }, { .time = 3, .stack = 1, .value = 4 } };
static const struct iaprof_module modules[] = { { .path = "/bin/x", .build_id = "abcd" } };

static const struct iaprof_device devices[] = { { .source = "source", .name = "GPU", .address = "0000:00:02.0" } };
static const struct iaprof_process processes[] = { { .name = "program" } };
static const struct iaprof_call_function functions[] = { { .source = "source", .name = "open", .family = "files" } };
static const struct iaprof_finding findings[] = { { .source = "source", .name = "stall", .text = "long" } };
static const uint64_t buckets[IAPROF_HISTOGRAM_BUCKET_COUNT_MAX] = { [5] = 6 };
static const struct iaprof_histogram histograms[] = {
	{ .source = "source", .name = "wait", .unit = "ns", .count = 6, .buckets = buckets }
};
static const struct iaprof_counter_point points[] = { { .begin = 1, .end = 2, .count = 1, .mean = 0.5 } };
static const struct iaprof_counter counters[] = { { .source = "source",
						    .name = "power",
						    .unit = "watts",
						    .points = points,
						    .point_count = 1,
						    .engine = "",
						    .labels = "a=b" } };
static const struct iaprof_event events[] = { { .begin = 1, .end = 2, .count = 1, .tid = 5 },
					      { .begin = 3, .end = 4 } };
static const char *const threads[] = { "worker", NULL };
static const struct iaprof_track_slot slots[] = { { .number = 1, .count = 2 } };
static const struct iaprof_track tracks[] = { { .kind = IAPROF_TRACK_JOBS,
						.source = "source",
						.name = "compute",
						.events = events,
						.event_count = 2,
						.slots = slots,
						.slot_count = 1,
						.threads = threads } };
static const struct iaprof_call_node nodes[] = { { .parent = IAPROF_ACTIVITY_NONE, .count = 8 } };
#define LIST(list, name, array)                                                                                        \
	.list = (array), .name##_count = sizeof(array) / sizeof *(array), .name##_size = sizeof *(array)
static const struct iaprof_activity activity = { .size = sizeof activity,
						 LIST(devices, device, devices),
						 LIST(processes, process, processes),
						 LIST(functions, function, functions),
						 LIST(findings, finding, findings),
						 LIST(nodes, node, nodes),
						 LIST(histograms, histogram, histograms),
						 LIST(counters, counter, counters),
						 LIST(tracks, track, tracks) };

static const struct iaprof_profile profile = { .size = sizeof profile,
					       .interval = 3,
					       LIST(frames, frame, frames),
					       LIST(stacks, stack, stacks),
					       LIST(value_types, value_type, value_types),
					       LIST(values, value, values),
					       LIST(lost, lost, lost),
					       .metadata = metadata,
					       LIST(times, time, times),
					       LIST(modules, module, modules),
					       .activity = &activity };

static const void *copy_of(const struct packing_layout *layout, const void *original)
{
	struct packed packed;
	ck_assert_int_eq(packed_make(&packed, layout, original), 0);
	ck_assert_int_eq(packed.size > MESSAGE_BYTES_MAX, packed.descriptor >= 0);
	ck_assert_int_eq(unpacked_make(&unpacked, packed.bytes, packed.size, packed.descriptor, &texts), 0);
	packed_free(&packed);
	return unpacked.copy;
}

static void tear_down(void)
{
	string_table_free(&texts);
}

static void expect_same(const struct iaprof_profile *copy)
{
	ck_assert_uint_eq(copy->interval, 3);
	ck_assert_ptr_ne(copy->frames, frames);
	const struct iaprof_frame *first = iaprof_profile_frame(copy, 0), *second = iaprof_profile_frame(copy, 1);
	ck_assert_str_eq(first->name, "main");
	ck_assert_ptr_ne(first->name, frames[0].name);
	ck_assert_str_eq(first->module, "/bin/x");
	ck_assert_str_eq(first->file, "x.c");
	ck_assert_uint_eq(first->line, 7);
	ck_assert_str_eq(second->name, "left");
	ck_assert_ptr_null(second->module);
	ck_assert_uint_eq(second->address, 0x1234);
	const struct iaprof_stack *stack = iaprof_profile_stack(copy, 0), *other = iaprof_profile_stack(copy, 1);
	ck_assert_mem_eq(stack->frames, frame_ids, sizeof frame_ids);
	ck_assert_uint_eq(other->frames[0], 1);
	ck_assert_str_eq(stack->origin.thread, "worker");
	ck_assert_ptr_null(stack->origin.device);
	/* Equal names have one address. */
	ck_assert_ptr_eq(stack->origin.thread, other->origin.thread);
	ck_assert_str_eq(other->origin.device, "GPU");
	ck_assert_str_eq(iaprof_profile_value_type(copy, 0)->unit, "nanoseconds");
	ck_assert_mem_eq(copy->values, values, sizeof values);
	ck_assert_str_eq(iaprof_profile_lost(copy, 0)->reason, "full");
	for (size_t i = 0; i < 4; i++)
		ck_assert_str_eq(copy->metadata[i], metadata[i]);
	ck_assert_ptr_null(copy->metadata[4]);
	ck_assert_mem_eq(copy->times, times, sizeof times);
	ck_assert_ptr_null(copy->time_totals);
	ck_assert_str_eq(iaprof_profile_module(copy, 0)->build_id, "abcd");
}

static void expect_same_activity(const struct iaprof_activity *copy)
{
	ck_assert_ptr_ne(copy, &activity);
	ck_assert_mem_eq(copy->nodes, nodes, sizeof nodes);
	ck_assert_str_eq(iaprof_activity_device(copy, 0)->address, "0000:00:02.0");
	ck_assert_str_eq(iaprof_activity_process(copy, 0)->name, "program");
	ck_assert_str_eq(iaprof_activity_function(copy, 0)->family, "files");
	ck_assert_str_eq(iaprof_activity_finding(copy, 0)->text, "long");
	ck_assert_mem_eq(iaprof_activity_histogram(copy, 0)->buckets, buckets, sizeof buckets);
	ck_assert_str_eq(iaprof_activity_counter(copy, 0)->labels, "a=b");
	ck_assert_mem_eq(iaprof_activity_counter(copy, 0)->points, points, sizeof points);
	const struct iaprof_track *track = iaprof_activity_track(copy, 0);
	ck_assert_mem_eq(track->events, events, sizeof events);
	ck_assert_mem_eq(track->slots, slots, sizeof slots);
	ck_assert_str_eq(track->threads[0], "worker");
	ck_assert_ptr_null(track->threads[1]);
}

TEST(copies_have_everything)
{
	const struct iaprof_profile *copy = copy_of(&packing_of_profile, &profile);
	expect_same(copy);
	expect_same_activity(copy->activity);
	unpacked_free(&unpacked);
}

/* Texts are valid until finish(). */
TEST(texts_outlive_their_profile)
{
	const struct iaprof_profile *copy = copy_of(&packing_of_profile, &profile);
	const char *name = iaprof_profile_frame(copy, 0)->name;
	unpacked_free(&unpacked);
	ck_assert_str_eq(name, "main");
	struct iaprof_frame later_frames[] = { frames[0], { .name = "new" } };
	struct iaprof_profile later = profile;
	later.frames = later_frames;
	copy = copy_of(&packing_of_profile, &later);
	ck_assert_ptr_eq(iaprof_profile_frame(copy, 0)->name, name);
	ck_assert_str_eq(iaprof_profile_frame(copy, 1)->name, "new");
	unpacked_free(&unpacked);
}

TEST(differences_have_both_runs)
{
	static const uint32_t positions[] = { 1, UINT32_MAX };
	struct iaprof_profile difference = profile;
	difference.activity = NULL;
	difference.before_metadata = metadata;
	difference.before_profile = difference.after_profile = &profile;
	difference.before_stacks = difference.after_stacks = positions;
	const struct iaprof_profile *copy = copy_of(&packing_of_profile, &difference);
	expect_same(copy);
	ck_assert_ptr_null(copy->activity);
	ck_assert_str_eq(copy->before_metadata[1], "value");
	ck_assert(copy->before_profile);
	expect_same(copy->before_profile);
	expect_same(copy->after_profile);
	ck_assert_mem_eq(copy->before_stacks, positions, sizeof positions);
	ck_assert_mem_eq(copy->after_stacks, positions, sizeof positions);
	unpacked_free(&unpacked);
}

/* More than the first size of a file, so that it moves while it grows. */
TEST(images_grow)
{
	enum { COUNT = 100000 };
	struct iaprof_value *many = calloc(COUNT, sizeof *many);
	ck_assert_ptr_nonnull(many);
	for (uint32_t i = 0; i < COUNT; i++)
		many[i].value = i + 1;
	struct iaprof_profile large = profile;
	large.values = many;
	large.value_count = COUNT;
	const struct iaprof_profile *copy = copy_of(&packing_of_profile, &large);
	ck_assert_mem_eq(copy->values, many, COUNT * sizeof *many);
	expect_same_activity(copy->activity);
	unpacked_free(&unpacked);
	free(many);
}

TEST(a_target_has_its_processes_and_cgroup)
{
	static const uint32_t pids[] = { 5, 6 };
	const struct iaprof_target target = { .size = sizeof target, .pids = pids, .pid_count = 2, .cgroup = "/x" };
	const struct iaprof_target *copy = copy_of(&packing_of_target, &target);
	ck_assert_mem_eq(copy->pids, pids, sizeof pids);
	ck_assert_ptr_ne(copy->pids, pids);
	ck_assert_str_eq(copy->cgroup, "/x");
	unpacked_free(&unpacked);
}

TEST(an_unwind_table_has_one_more_position_than_pages)
{
	static const uint32_t index[] = { 0, 1, 2 };
	static const struct iaprof_unwind_row rows[2] = { [1] = { .rule = 1 } };
	static const struct iaprof_unwind_rule rules[2];
	static const struct iaprof_thread_context context = { .slot = 7 };
	const struct iaprof_unwind_table table = { .size = sizeof table,
						   .page_count = 2,
						   .index = index,
						   .rows = rows,
						   .row_count = 2,
						   .rules = rules,
						   .rule_count = 2,
						   .thread_context = &context };
	const struct iaprof_unwind_table *copy = copy_of(&packing_of_unwind_table, &table);
	ck_assert_mem_eq(copy->index, index, sizeof index);
	ck_assert_mem_eq(copy->rows, rows, sizeof rows);
	ck_assert_mem_eq(copy->rules, rules, sizeof rules);
	ck_assert_mem_eq(copy->thread_context, &context, sizeof context);
	ck_assert_ptr_null(copy->python);
	unpacked_free(&unpacked);
}

int main(void)
{
	return run_all_tests(0, NULL, tear_down);
}
