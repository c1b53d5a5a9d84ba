/* SPDX-License-Identifier: Apache-2.0 */
/* The pointers in the structs that iaprof passes to plugins: see packing.h. */
#include <iaprof/host.h>
#include <iaprof/profile.h>
#include <iaprof/unwind.h>

#include "run/isolation/packing.h"

#define AT(type, member) .at = offsetof(struct iaprof_##type, member)
#define TEXT(type, member) .kind = PACKING_TEXT, AT(type, member)
#define ITEMS(type, member)                                                                                            \
	.kind = PACKING_ITEMS, AT(type, member), .stride = sizeof *((struct iaprof_##type *)0)->member
#define COUNT(type, member)                                                                                            \
	.count_at = offsetof(struct iaprof_##type, member), .count_size = sizeof((struct iaprof_##type *)0)->member
/* A list of structs that may grow. */
#define LIST(type, list, name)                                                                                         \
	.kind = PACKING_ITEMS, AT(type, list), COUNT(type, name##_count),                                              \
	.stride_at = offsetof(struct iaprof_##type, name##_size)

static const struct packing_pointer in_text[] = { { .kind = PACKING_TEXT }, { 0 } };
static const struct packing_pointer in_frame[] = {
	{ TEXT(frame, name) }, { TEXT(frame, module) }, { TEXT(frame, file) }, { TEXT(frame, kernel_class) }, { 0 }
};
static const struct packing_pointer in_stack[] = { { ITEMS(stack, frames), COUNT(stack, frame_count) },
						   { TEXT(stack, origin.thread) },
						   { TEXT(stack, origin.device) },
						   { 0 } };
static const struct packing_pointer in_value_type[] = {
	{ TEXT(value_type, name) }, { TEXT(value_type, unit) }, { TEXT(value_type, sample_unit) }, { 0 }
};
static const struct packing_pointer in_lost[] = { { TEXT(lost, source) }, { TEXT(lost, reason) }, { 0 } };
static const struct packing_pointer in_module[] = { { TEXT(module, path) }, { TEXT(module, build_id) }, { 0 } };
static const struct packing_pointer in_device[] = {
	{ TEXT(device, source) }, { TEXT(device, name) }, { TEXT(device, address) }, { 0 }
};
static const struct packing_pointer in_process[] = { { TEXT(process, name) }, { 0 } };
static const struct packing_pointer in_function[] = {
	{ TEXT(call_function, source) }, { TEXT(call_function, name) }, { TEXT(call_function, family) }, { 0 }
};
static const struct packing_pointer in_histogram[] = { { TEXT(histogram, source) },
						       { TEXT(histogram, name) },
						       { TEXT(histogram, unit) },
						       { ITEMS(histogram, buckets),
							 .count = IAPROF_HISTOGRAM_BUCKET_COUNT_MAX },
						       { 0 } };
static const struct packing_pointer in_finding[] = {
	{ TEXT(finding, source) }, { TEXT(finding, name) }, { TEXT(finding, text) }, { 0 }
};
static const struct packing_pointer in_counter[] = { { TEXT(counter, source) },
						     { TEXT(counter, name) },
						     { TEXT(counter, unit) },
						     { TEXT(counter, engine) },
						     { TEXT(counter, labels) },
						     { ITEMS(counter, points), COUNT(counter, point_count) },
						     { 0 } };
static const struct packing_pointer in_track[] = { { TEXT(track, source) },
						   { TEXT(track, name) },
						   { ITEMS(track, events), COUNT(track, event_count) },
						   { ITEMS(track, slots), COUNT(track, slot_count) },
						   { ITEMS(track, threads), COUNT(track, event_count),
						     .in_an_item = in_text },
						   { 0 } };
static const struct packing_pointer in_activity[] = {
	{ LIST(activity, devices, device), .in_an_item = in_device },
	{ LIST(activity, processes, process), .in_an_item = in_process },
	{ LIST(activity, functions, function), .in_an_item = in_function },
	{ LIST(activity, nodes, node) },
	{ LIST(activity, histograms, histogram), .in_an_item = in_histogram },
	{ LIST(activity, findings, finding), .in_an_item = in_finding },
	{ LIST(activity, counters, counter), .in_an_item = in_counter },
	{ LIST(activity, tracks, track), .in_an_item = in_track },
	{ 0 }
};
extern const struct packing_pointer in_profile[];
const struct packing_pointer in_profile[] = { { LIST(profile, frames, frame), .in_an_item = in_frame },
					      { LIST(profile, stacks, stack), .in_an_item = in_stack },
					      { LIST(profile, value_types, value_type), .in_an_item = in_value_type },
					      { LIST(profile, values, value) },
					      { LIST(profile, lost, lost), .in_an_item = in_lost },
					      { ITEMS(profile, metadata), .in_an_item = in_text },
					      { LIST(profile, times, time) },
					      { .kind = PACKING_ITEMS,
						AT(profile, time_totals),
						COUNT(profile, time_total_count),
						.stride_at = offsetof(struct iaprof_profile, time_size) },
					      { ITEMS(profile, before_metadata), .in_an_item = in_text },
					      { LIST(profile, modules, module), .in_an_item = in_module },
					      { ITEMS(profile, activity), .count = 1, .in_an_item = in_activity },
					      { ITEMS(profile, before_profile), .count = 1, .in_an_item = in_profile },
					      { ITEMS(profile, after_profile), .count = 1, .in_an_item = in_profile },
					      { ITEMS(profile, before_stacks), COUNT(profile, stack_count),
						.counted_in = offsetof(struct iaprof_profile, before_profile) },
					      { ITEMS(profile, after_stacks), COUNT(profile, stack_count),
						.counted_in = offsetof(struct iaprof_profile, after_profile) },
					      { 0 } };
const struct packing_layout packing_of_profile = { sizeof(struct iaprof_profile), in_profile };

static const struct packing_pointer in_target[] = { { ITEMS(target, pids), COUNT(target, pid_count) },
						    { TEXT(target, cgroup) },
						    { 0 } };
const struct packing_layout packing_of_target = { sizeof(struct iaprof_target), in_target };

static const struct packing_pointer in_mapped_file[] = { { TEXT(mapped_file, path) }, { 0 } };
const struct packing_layout packing_of_mapped_file = { sizeof(struct iaprof_mapped_file), in_mapped_file };

static const struct packing_pointer in_unwind_table[] = {
	/* One more than pages. */
	{ ITEMS(unwind_table, index), COUNT(unwind_table, page_count), .count = 1 },
	{ ITEMS(unwind_table, rows), COUNT(unwind_table, row_count) },
	{ ITEMS(unwind_table, rules), COUNT(unwind_table, rule_count) },
	{ ITEMS(unwind_table, python), .count = 1 },
	{ ITEMS(unwind_table, thread_context), .count = 1 },
	{ 0 }
};
const struct packing_layout packing_of_unwind_table = { sizeof(struct iaprof_unwind_table), in_unwind_table };

static const struct packing_pointer in_unwind_process[] = {
	{ ITEMS(unwind_process, mappings), COUNT(unwind_process, mapping_count) }, { 0 }
};
const struct packing_layout packing_of_unwind_process = { sizeof(struct iaprof_unwind_process), in_unwind_process };
