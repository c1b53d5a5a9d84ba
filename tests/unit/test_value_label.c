/* SPDX-License-Identifier: Apache-2.0 */
/* What value types are called: time only where there are durations, and a unit of what a sample is taken of. */
#include <check.h>
#include <string.h>

#include "stacks/value_choice.h"
#include "stacks/value_label.h"
#include "../run_suite.h"

static void is_called(void (*append)(struct text *, const struct iaprof_value_type *),
		      const struct iaprof_value_type *type, const char *wanted)
{
	struct text text = { 0 };
	append(&text, type);
	ck_assert_str_eq(text_string(&text), wanted);
	text_free(&text);
}

static const struct {
	struct iaprof_value_type type;
	const char *words, *title;
} types[] = {
	{ { .name = "cpu", .role = IAPROF_VALUE_CPU_TIME }, "CPU time", "CPU time" },
	{ { .name = "x", .role = IAPROF_VALUE_DEVICE_TIME, .device_kind = IAPROF_DEVICE_GPU }, "GPU time", "GPU time" },
	{ { .name = "x", .role = IAPROF_VALUE_DEVICE_TIME, .device_kind = IAPROF_DEVICE_NPU, .sample_unit = "tile" },
	  "NPU time",
	  "NPU time" },
	{ { .name = "x", .role = IAPROF_VALUE_DEVICE_SAMPLES, .device_kind = IAPROF_DEVICE_GPU, .sample_unit = "EU" },
	  "GPU samples",
	  "GPU samples (EU-time)" },
	{ { .name = "x", .role = IAPROF_VALUE_DEVICE_SAMPLES, .device_kind = IAPROF_DEVICE_NPU },
	  "NPU samples",
	  "NPU samples" },
	{ { .name = "x", .role = IAPROF_VALUE_DEVICE_SAMPLES }, "device samples", "device samples" },
	{ { .name = "x", .role = IAPROF_VALUE_DEVICE_IDLE, .device_kind = IAPROF_DEVICE_GPU },
	  "GPU idle time",
	  "GPU idle time" },
	{ { .name = "x", .role = IAPROF_VALUE_DEVICE_OVERLAP, .device_kind = IAPROF_DEVICE_GPU },
	  "GPU overlapped time",
	  "GPU overlapped time" },
	{ { .name = "x", .role = IAPROF_VALUE_COPY_TIME, .device_kind = IAPROF_DEVICE_GPU },
	  "GPU copy time",
	  "GPU copy time" },
	{ { .name = "x", .role = IAPROF_VALUE_COPIED_BYTES, .device_kind = IAPROF_DEVICE_GPU },
	  "GPU copied bytes",
	  "GPU copied bytes" },
	{ { .name = "off-cpu", .role = IAPROF_VALUE_WAIT }, "waiting", "waiting" },
	{ { .name = "runnable", .role = IAPROF_VALUE_WAIT }, "waiting for a CPU", "waiting for a CPU" },
	{ { .name = "a\nb" }, "a?b", "a?b" },
};

TEST_LOOP(types_have_labels, 0, sizeof types / sizeof *types)
{
	is_called(value_type_append_words, &types[_i].type, types[_i].words);
	is_called(value_type_append_title, &types[_i].type, types[_i].title);
}

/* Both devices have samples; "faults" is counted and timed. */
static struct iaprof_value_type several[] = {
	{ .name = "gpu-stalls",
	  .unit = "count",
	  .role = IAPROF_VALUE_DEVICE_SAMPLES,
	  .device_kind = IAPROF_DEVICE_GPU },
	{ .name = "gpu-warps", .unit = "count", .role = IAPROF_VALUE_DEVICE_SAMPLES, .device_kind = IAPROF_DEVICE_GPU },
	{ .name = "faults", .unit = "count" },
	{ .name = "faults", .unit = "nanoseconds" },
	{ .name = "cpu", .unit = "nanoseconds", .role = IAPROF_VALUE_CPU_TIME },
};
static const struct iaprof_profile profile = { .value_types = several,
					       .value_type_count = sizeof several / sizeof *several,
					       .value_type_size = sizeof *several };

TEST(equal_titles_are_distinguished)
{
	static const char *const wanted[] = { "GPU samples (gpu-stalls)", "GPU samples (gpu-warps)", "faults (count)",
					      "faults (nanoseconds)", "CPU time" };
	for (uint32_t i = 0; i < profile.value_type_count; i++) {
		struct text text = { 0 };
		value_type_append_own_title(&text, &profile, i);
		ck_assert_str_eq(text_string(&text), wanted[i]);
		text_free(&text);
	}
}

TEST(a_profile_has_one_kind_of_device_or_none)
{
	ck_assert_uint_eq(device_kind_of_profile(&profile), IAPROF_DEVICE_GPU);
	several[1].device_kind = IAPROF_DEVICE_NPU;
	ck_assert_uint_eq(device_kind_of_profile(&profile), IAPROF_DEVICE_UNKNOWN);
	several[0].device_kind = IAPROF_DEVICE_NPU;
	ck_assert_uint_eq(device_kind_of_profile(&profile), IAPROF_DEVICE_NPU);
}

TEST(names_imply_roles_and_kinds)
{
	ck_assert_uint_eq(value_role_of_name("cpu", "nanoseconds"), IAPROF_VALUE_CPU_TIME);
	ck_assert_uint_eq(value_role_of_name("cpu", "count"), IAPROF_VALUE_UNKNOWN);
	ck_assert_uint_eq(value_role_of_name("gpu", "nanoseconds"), IAPROF_VALUE_UNKNOWN);
	ck_assert_uint_eq(device_kind_of_name("gpu-stalls"), IAPROF_DEVICE_GPU);
	ck_assert_uint_eq(device_kind_of_name("npu-time"), IAPROF_DEVICE_NPU);
	ck_assert_uint_eq(device_kind_of_name("gpu"), IAPROF_DEVICE_UNKNOWN);
}

/* What sinks show first: time, then samples, and idle time after all others. */
TEST(time_of_devices_is_preferred)
{
	ck_assert_int_gt(value_role_preference(IAPROF_VALUE_DEVICE_TIME),
			 value_role_preference(IAPROF_VALUE_DEVICE_SAMPLES));
	ck_assert_int_gt(value_role_preference(IAPROF_VALUE_DEVICE_SAMPLES),
			 value_role_preference(IAPROF_VALUE_CPU_TIME));
	ck_assert_int_eq(value_role_preference(IAPROF_VALUE_UNKNOWN), value_role_preference(IAPROF_VALUE_CPU_TIME));
	ck_assert_int_gt(value_role_preference(IAPROF_VALUE_WAIT), value_role_preference(IAPROF_VALUE_DEVICE_IDLE));
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
