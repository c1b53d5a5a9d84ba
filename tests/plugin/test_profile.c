/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles built by hand: see test_profile.h. */
#include "test_profile.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "stacks/value_label.h"

uint32_t test_profile_value_type(struct test_profile *profile, const char *name, const char *unit)
{
	struct iaprof_value_type type = { .name = name, .unit = unit };
	type.role = value_role_of_name(name, unit);
	if (!strcmp(name, "gpu-time"))
		type.role = IAPROF_VALUE_DEVICE_TIME;
	if (!strcmp(name, "gpu-idle"))
		type.role = IAPROF_VALUE_DEVICE_IDLE;
	if (!strcmp(name, "gpu-copy-time"))
		type.role = IAPROF_VALUE_COPY_TIME;
	if (!strcmp(name, "gpu-copied"))
		type.role = IAPROF_VALUE_COPIED_BYTES;
	type.device_kind = device_kind_of_name(name);
	ck_assert(array_push(&profile->value_types, type));
	return (uint32_t)profile->value_types.count - 1;
}

uint32_t test_profile_frame(struct test_profile *profile, const struct iaprof_frame *frame)
{
	struct iaprof_frame copy = *frame;
	copy.name = strdup(frame->name);
	ck_assert(array_push(&profile->frames, copy));
	return (uint32_t)profile->frames.count - 1;
}

uint32_t test_profile_stack(struct test_profile *profile, const uint32_t *frames, uint32_t count)
{
	uint32_t *copy = calloc(count, sizeof *copy);
	ck_assert_ptr_nonnull(copy);
	memcpy(copy, frames, count * sizeof *copy);
	struct iaprof_stack stack = { .frames = copy, .frame_count = count };
	ck_assert(array_push(&profile->stacks, stack));
	return (uint32_t)profile->stacks.count - 1;
}

void test_profile_value(struct test_profile *profile, uint32_t stack, uint32_t value_type, uint64_t value)
{
	struct iaprof_value item = { .stack = stack, .value_type = value_type, .value = value, .count = 1 };
	ck_assert(array_push(&profile->values, item));
}

void test_profile_time(struct test_profile *profile, uint32_t stack, uint32_t value_type, uint64_t time, uint64_t value)
{
	struct iaprof_time_value item = {
		.time = time - time % profile->time_width, .stack = stack, .value_type = value_type, .value = value
	};
	ck_assert(array_push(&profile->times, item));
	item.time = time - time % profile->total_width;
	item.stack = UINT32_MAX;
	ck_assert(array_push(&profile->time_totals, item));
}

void test_profile_lost(struct test_profile *profile, const struct iaprof_lost *lost)
{
	ck_assert(array_push(&profile->lost, *lost));
}

void test_profile_add(struct test_profile *profile, const char *stack, uint32_t value_type, uint64_t value)
{
	char *text CLEANUP_FREE = strdup(stack);
	uint32_t frames[64], count = 0;
	char *rest = text;
	for (char *name; (name = strsep(&rest, ";"));) {
		ck_assert_uint_lt(count, 64);
		struct iaprof_frame frame = { .name = name, .kind = count ? IAPROF_FRAME_USER : IAPROF_FRAME_PROCESS };
		frames[count++] = test_profile_frame(profile, &frame);
	}
	test_profile_value(profile, test_profile_stack(profile, frames, count), value_type, value);
}

/* Values with stall reasons are samples of a device, as in the engine. */
static void find_roles(struct test_profile *profile)
{
	for (size_t i = 0; i < profile->values.count; i++) {
		struct iaprof_value_type *type = &profile->value_types.items[profile->values.items[i].value_type];
		const struct iaprof_stack *stack = &profile->stacks.items[profile->values.items[i].stack];
		for (uint32_t k = 0; k < stack->frame_count && !type->role; k++)
			if (profile->frames.items[stack->frames[k]].kind == IAPROF_FRAME_STALL_REASON)
				type->role = IAPROF_VALUE_DEVICE_SAMPLES;
	}
}

const struct iaprof_profile *test_profile_get(struct test_profile *profile)
{
	static const char *const none[] = { NULL };
	find_roles(profile);
	profile->profile = (struct iaprof_profile){
		.size = sizeof profile->profile,
		.flags = IAPROF_PROFILE_FINAL | IAPROF_PROFILE_TOTAL,
		.begin = TEST_PROFILE_BEGIN,
		.end = profile->end ? profile->end : 5000001000,
		.begin_realtime = 1700000000000000000,
		.activity = profile->activity,
		.frames = profile->frames.items,
		.frame_count = profile->frames.count,
		.frame_size = sizeof(struct iaprof_frame),
		.stacks = profile->stacks.items,
		.stack_count = profile->stacks.count,
		.stack_size = sizeof(struct iaprof_stack),
		.value_types = profile->value_types.items,
		.value_type_count = profile->value_types.count,
		.value_type_size = sizeof(struct iaprof_value_type),
		.values = profile->values.items,
		.value_count = profile->values.count,
		.value_size = sizeof(struct iaprof_value),
		.lost = profile->lost.items,
		.lost_count = profile->lost.count,
		.lost_size = sizeof(struct iaprof_lost),
		.metadata = profile->metadata ? profile->metadata : none,
		.times = profile->times.items,
		.time_count = profile->times.count,
		.time_size = sizeof(struct iaprof_time_value),
		.time_width = profile->time_width,
		.time_totals = profile->time_totals.items,
		.time_total_count = profile->time_totals.count,
		.total_width = profile->total_width,
		.modules = profile->modules.items,
		.module_count = profile->modules.count,
		.module_size = sizeof(struct iaprof_module),
	};
	return &profile->profile;
}

void test_profile_free(struct test_profile *profile)
{
	for (size_t i = 0; i < profile->frames.count; i++)
		free((char *)profile->frames.items[i].name);
	for (size_t i = 0; i < profile->stacks.count; i++)
		free((uint32_t *)profile->stacks.items[i].frames);
	array_free(&profile->frames);
	array_free(&profile->stacks);
	array_free(&profile->value_types);
	array_free(&profile->values);
	array_free(&profile->lost);
	array_free(&profile->modules);
	array_free(&profile->times);
	array_free(&profile->time_totals);
}
