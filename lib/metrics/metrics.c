/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of profiles, and what they share with those of records: see metrics.h. */
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturating.h"
#include "text/text.h"

#define OTHERS "[others]"

struct label_text label_of(const char *name)
{
	struct label_text label = { "" };
	struct text clean = { 0 };
	char cut[LABEL_SIZE];
	strncpy(cut, name ? name : "", sizeof cut - 1);
	cut[sizeof cut - 1] = '\0';
	text_append_name(&clean, cut);
	/* A character that was cut in two becomes several bytes at most: clean is not longer than cut. */
	strncpy(label.text, text_string(&clean), sizeof label.text - 1);
	text_free(&clean);
	return label;
}

bool metrics_init(struct metrics *metrics, bool recorded)
{
	*metrics = (struct metrics){ .recorded = recorded, .container_count = 1 };
	metrics->devices = calloc(METRIC_DEVICES_MAX, sizeof *metrics->devices);
	metrics->containers[METRIC_CONTAINERS_MAX - 1].name = label_of(OTHERS);
	return metrics->devices != NULL;
}

/* Returns NULL when out of memory. */
static struct metric_type *find_type(struct metrics *metrics, const struct iaprof_value_type *type)
{
	struct metric_type wanted = { .name = label_of(type->name), .is_time = !strcmp(type->unit, "nanoseconds") };
	bool is_full = metrics->types.count >= METRIC_TYPES_MAX - 1;
	for (size_t i = 0; i < metrics->types.count; i++)
		if (label_is_equal(&metrics->types.items[i].name, &wanted.name))
			return &metrics->types.items[i];
	if (is_full && metrics->types.count == METRIC_TYPES_MAX)
		return &metrics->types.items[METRIC_TYPES_MAX - 1];
	if (is_full)
		wanted = (struct metric_type){ .name = label_of(OTHERS) };
	return array_push(&metrics->types, wanted) ? &metrics->types.items[metrics->types.count - 1] : NULL;
}

/* What is known of a stack. */
struct stack_facts {
	bool is_lost, is_matched;
};

/*
 * A device sample is matched if its GPU kernel is known, a CPU sample if its innermost function has a name: the shares
 * in the summary of a run (stacks/profile_summary.h).
 */
static struct stack_facts facts_of(const struct iaprof_profile *profile, uint32_t index)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, index);
	const struct iaprof_frame *kernel = NULL, *function = NULL;
	bool is_lost = false, is_device = false;
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, stack->frames[i]);
		is_lost |= frame->kind == IAPROF_FRAME_LOST;
		is_device |= frame->kind == IAPROF_FRAME_STALL_REASON || frame->kind == IAPROF_FRAME_SEPARATOR;
		if (frame->kind == IAPROF_FRAME_DEVICE_FUNCTION && !kernel)
			kernel = frame;
		if (frame->kind == IAPROF_FRAME_USER || frame->kind == IAPROF_FRAME_JIT ||
		    frame->kind == IAPROF_FRAME_PYTHON || frame->kind == IAPROF_FRAME_LINUX_KERNEL ||
		    frame->kind == IAPROF_FRAME_CALL)
			function = frame;
	}
	const struct iaprof_frame *judged = is_device || kernel ? kernel : function;
	return (struct stack_facts){ is_lost, judged && !(judged->flags & IAPROF_FRAME_UNKNOWN) };
}

static struct metric_loss *find_loss(struct metrics *metrics, const struct iaprof_lost *lost)
{
	struct metric_loss wanted = { .source = label_of(lost->source), .reason = label_of(lost->reason) };
	bool is_full = metrics->losses.count >= METRIC_LOSSES_MAX - 1;
	for (size_t i = 0; i < metrics->losses.count; i++)
		if (label_is_equal(&metrics->losses.items[i].source, &wanted.source) &&
		    label_is_equal(&metrics->losses.items[i].reason, &wanted.reason))
			return &metrics->losses.items[i];
	if (is_full && metrics->losses.count == METRIC_LOSSES_MAX)
		return &metrics->losses.items[METRIC_LOSSES_MAX - 1];
	if (is_full)
		wanted = (struct metric_loss){ .source = label_of(OTHERS), .reason = label_of(OTHERS) };
	return array_push(&metrics->losses, wanted) ? &metrics->losses.items[metrics->losses.count - 1] : NULL;
}

static void take_value(struct metrics *metrics, const struct iaprof_profile *profile, const struct iaprof_value *value)
{
	struct stack_facts facts = facts_of(profile, value->stack);
	struct metric_type *type =
		facts.is_lost ? NULL : find_type(metrics, iaprof_profile_value_type(profile, value->value_type));
	if (!type) {
		metrics->dropped += !facts.is_lost;
		return;
	}
	if (iaprof_profile_value_type(profile, value->value_type)->role != IAPROF_VALUE_DEVICE_IDLE)
		saturating_increase(&type->samples, value->count);
	if (facts.is_matched)
		saturating_increase(&type->matched, value->count);
	if (type->is_time)
		saturating_increase(&type->value, value->value);
}

void metrics_take_profile(struct metrics *metrics, const struct iaprof_profile *profile)
{
	for (size_t i = 0; i < profile->value_count; i++)
		take_value(metrics, profile, iaprof_profile_value(profile, i));
	for (size_t i = 0; i < profile->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(profile, i);
		struct metric_loss *loss = find_loss(metrics, lost);
		metrics->dropped += !loss;
		if (!loss)
			continue;
		saturating_increase(&loss->count, lost->count);
		loss->unknown += lost->unknown;
	}
	metrics->intervals++;
	metrics->profile_end = profile->begin_realtime ? profile->begin_realtime + (profile->end - profile->begin) : 0;
	/* Process ids may be used again. */
	metrics->processes.count = 0;
	hash_index_free(&metrics->process_index);
}

uint64_t metrics_kernel_side_time(const struct metrics *metrics)
{
	double sum = 0;
	for (size_t i = 0; i < metrics->counters.count; i++)
		sum += metrics->counters.items[i].kernel_side;
	return sum > 0 && sum < 1e18 ? (uint64_t)sum : 0;
}

void metrics_free(struct metrics *metrics)
{
	recent_strings_free(&metrics->strings);
	free(metrics->devices);
	array_free(&metrics->sources);
	array_free(&metrics->device_ids);
	array_free(&metrics->processes);
	hash_index_free(&metrics->process_index);
	array_free(&metrics->readings);
	array_free(&metrics->counters);
	array_free(&metrics->sinks);
	array_free(&metrics->types);
	array_free(&metrics->losses);
}
