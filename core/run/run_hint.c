/* SPDX-License-Identifier: Apache-2.0 */
/* The last line of a run of a command that did little of the work itself: see run_state.h. */
#include <string.h>

#include "base/log.h"
#include "run/run_state.h"
#include "stacks/value_label.h"
#include "text/quantity.h"

/* Share of one CPU below which a command hardly computes: it may wait for others, which do. */
#define CPU_SHARE_MIN 0.05
/* Shorter runs have too few samples for a conclusion, ns. */
#define DURATION_MIN (NANOSECONDS_PER_SECOND / 2)
/* Likewise for devices. */
#define DEVICE_SAMPLES_MIN 100

static bool has_cpu_time(const struct iaprof_profile *profile)
{
	for (uint32_t i = 0; i < profile->value_type_count; i++)
		if (iaprof_profile_value_type(profile, i)->role == IAPROF_VALUE_CPU_TIME)
			return true;
	return false;
}

static void hint_at_cpus(const struct run *run, const struct iaprof_profile *profile)
{
	const struct child *child = &run->command.child;
	uint64_t duration = profile->end - profile->begin;
	double spent = (double)child->spent, least = CPU_SHARE_MIN * (double)duration;
	if (!has_cpu_time(profile) || child->status == -1 || duration < DURATION_MIN || spent >= least)
		return;
	log_notice("%s used %s of one CPU: if other processes work for it, such as a container or a service, profile "
		   "them with --scope system",
		   run->command.name, quantity_share(spent, (double)duration, " %").text);
}

/* Returns whether a device stack begins with the stack of a launch: of the command's programs, launches are recorded.
 */
static bool has_launch(const struct iaprof_profile *profile, const struct iaprof_stack *stack)
{
	if (stack->frame_count < 2 || iaprof_profile_frame(profile, stack->frames[0])->kind != IAPROF_FRAME_PROCESS)
		return false;
	const struct iaprof_frame *frame = iaprof_profile_frame(profile, stack->frames[1]);
	return frame->kind != IAPROF_FRAME_SEPARATOR && strcmp(frame->name, "[launch not seen]") != 0;
}

/* Adds the samples of a value type, and those without a launch, but no losses. */
static void add_samples(const struct iaprof_profile *profile, uint32_t type, uint64_t *all, uint64_t *foreign)
{
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		if (value->value_type != type)
			continue;
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
		if (iaprof_profile_frame(profile, stack->frames[0])->kind == IAPROF_FRAME_LOST)
			continue;
		*all += value->value;
		*foreign += has_launch(profile, stack) ? 0 : value->value;
	}
}

static void hint_at_devices(const struct iaprof_profile *profile)
{
	for (uint32_t i = 0; i < profile->value_type_count; i++) {
		const struct iaprof_value_type *type = iaprof_profile_value_type(profile, i);
		uint64_t all = 0, foreign = 0;
		if (type->role != IAPROF_VALUE_DEVICE_SAMPLES)
			continue;
		add_samples(profile, i, &all, &foreign);
		if (all >= DEVICE_SAMPLES_MIN && foreign > all / 2)
			log_notice("%s of %s samples belong to no launch of the command: if other programs use the "
				   "device, profile them with --scope system",
				   quantity_share((double)foreign, (double)all, " %").text,
				   device_kind_word(type->device_kind));
	}
}

void run_hint_print(const struct run *run)
{
	const struct iaprof_profile *profile = run->result.engine.profile;
	if (run->configuration->scope != IAPROF_SCOPE_COMMAND || run->configuration->continuous || !profile)
		return;
	hint_at_cpus(run, profile);
	hint_at_devices(profile);
}
