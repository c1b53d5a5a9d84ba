/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes a sample's counts to stacks: see attribution.h. */
#include "correlator/attribution.h"

#include "base/saturating.h"

void attribution_free(struct attribution *attribution)
{
	proportional_split_free(&attribution->split);
}

uint64_t attribution_total(const struct iaprof_record_stall_sample *sample)
{
	const uint64_t *counts = iaprof_record_stall_sample_counts(sample);
	uint64_t total = 0;
	for (uint32_t i = 0; i < sample->reason_count; i++)
		total = saturating_add(total, counts[i]);
	return total;
}

/*
 * Returns the start of a sample's interval for the timeline. The interval in the record begins earlier, because
 * hardware buffers samples; overlapping intervals would show twice the activity. Samples of processes that the source
 * knows are read for each process, in intervals of its own, which overlap those of others.
 */
static uint64_t begin_of(struct device_samples *device, const struct iaprof_record_stall_sample *sample)
{
	uint64_t end = sample->header.time;
	if (sample->pid)
		return sample->begin;
	if (end > device->interval_end) {
		device->before_end = device->interval_end;
		device->interval_end = end;
	}
	bool overlaps = end == device->interval_end && sample->begin < device->before_end && device->before_end < end;
	return overlaps ? device->before_end : sample->begin;
}

/* Returns the value of the next part of a sample's counts. before: the counts that have a value, to which it is added.
 */
static uint64_t value_of_part(const struct attribution *attribution, uint64_t total, uint64_t *before, uint64_t part)
{
	if (!attribution->value)
		return saturating_multiply(part, attribution->period);
	unsigned __int128 value = attribution->value;
	uint64_t end = saturating_add(*before, part);
	uint64_t added = (uint64_t)(value * end / total) - (uint64_t)(value * *before / total);
	*before = end;
	return added;
}

/* Divides the count of each stall reason among the targets. */
static void divide(struct attribution *attribution, const struct iaprof_record_stall_sample *sample, uint64_t total,
		   uint64_t begin)
{
	const uint64_t *counts = iaprof_record_stall_sample_counts(sample);
	struct proportional_split *split = &attribution->split;
	uint64_t valued = 0;
	for (uint32_t reason = 0; reason < sample->reason_count; reason++) {
		if (!counts[reason])
			continue;
		proportional_split_divide(split, counts[reason]);
		for (size_t i = 0; i < split->targets.count; i++) {
			struct split_target *target = &split->targets.items[i];
			if (target->part)
				device_stacks_add(attribution->stacks, &target->key, &target->entry, reason, begin,
						  sample->header.time, target->part,
						  value_of_part(attribution, total, &valued, target->part));
		}
	}
}

static bool add_target(struct attribution *attribution, const struct iaprof_record_stall_sample *sample,
		       uint32_t launch_stack, uint32_t location, bool ambiguous, double weight)
{
	struct device_stack_key key = { .launch_stack = launch_stack,
					.location = location,
					.source = sample->header.source,
					.ambiguous = ambiguous,
					.reasons = stacks_reasons(sample->reason_count),
					.value_type = attribution->value_type,
					.device = attribution->device,
					.span = attribution->span,
					.is_job = attribution->is_job };
	return launch_stack != FRAME_NONE && location != LOCATION_NONE &&
	       proportional_split_add(&attribution->split, &key, weight);
}

/* Adds the stacks that launched a candidate's kernels, which share its part. */
static bool add_candidate(struct attribution *attribution, const struct iaprof_record_stall_sample *sample,
			  const struct launch_candidate *candidate, bool ambiguous, bool *launched)
{
	const struct kernel_share *shares;
	*launched |= candidate->launches > 0;
	if (candidate->launches <= 0)
		return add_target(attribution, sample,
				  launch_stacks_of_process(attribution->launch_stacks, candidate->pid,
							   sample->header.time, LAUNCH_STACK_NOT_LAUNCHED),
				  candidate->location, ambiguous, candidate->weight);
	for (size_t i = 0; i < candidate->kernel_count; i++)
		for (size_t k = launch_candidates_shares(attribution->candidates, sample, candidate, i, &shares);
		     k-- > 0;)
			if (!add_target(attribution, sample, shares[k].launch_stack, candidate->location, ambiguous,
					candidate->weight * shares[k].weight / candidate->launches))
				return false;
	return true;
}

/* Sets the span of the current sample. NULL or zeros: none. */
static void set_span(struct attribution *attribution, const struct iaprof_span *span, uint64_t total)
{
	if (!span || !iaprof_span_is_valid(span))
		return;
	attribution->span = frame_table_add_span(attribution->frames, span);
	if (!attribution->span)
		attribution->spans_dropped = saturating_add(attribution->spans_dropped, total);
}

/* Attributes a sample to the launch that it names, and to the candidate of that process. */
static bool match_launch(struct attribution *attribution, const struct iaprof_record_stall_sample *sample,
			 struct device_samples *became, uint64_t total)
{
	const struct launch_candidates *candidates = attribution->candidates;
	const struct launch_candidate *own = NULL;
	for (size_t i = 0; i < candidates->count && !own; i++)
		own = candidates->items[i].pid == sample->pid ? &candidates->items[i] : NULL;
	if (!own || !add_target(attribution, sample, attribution->launch->launch_stack, own->location, false, 1))
		return false;
	saturating_increase(&became->matched, total);
	return true;
}

static bool match_candidates(struct attribution *attribution, const struct iaprof_record_stall_sample *sample,
			     struct device_samples *became, uint64_t total)
{
	struct launch_candidates *candidates = attribution->candidates;
	if (attribution->launch)
		return match_launch(attribution, sample, became, total);
	bool ambiguous = candidates->count > 1 || candidates->items[0].shared || candidates->uncertain,
	     launched = false;
	/* find_launches() has asked for the shares of this interval. */
	if (!ambiguous && candidates->items[0].kernel_count == 1 && !candidates->items[0].others)
		set_span(attribution, kernels_shares_span(candidates->kernels, candidates->items[0].kernels[0]), total);
	for (size_t i = 0; i < candidates->count; i++)
		if (!add_candidate(attribution, sample, &candidates->items[i], ambiguous, &launched))
			return false;
	saturating_increase(ambiguous ? &became->ambiguous : &became->matched, total);
	saturating_increase(&became->unlaunched, launched || ambiguous ? 0 : total);
	return true;
}

/* Attributes a sample to unknown code of the sample's process, or of the only busy one. */
static bool match_unknown(struct attribution *attribution, const struct iaprof_record_stall_sample *sample,
			  struct device_samples *became, uint64_t total)
{
	const struct busy_process *busy = launch_candidates_only_busy(attribution->candidates, sample);
	uint32_t pid = sample->pid ? sample->pid : busy ? busy->pid : 0;
	uint64_t device = (uint64_t)sample->header.source << 32 | sample->device;
	uint32_t launch_stack = attribution->launch
					? attribution->launch->launch_stack
					: launch_stacks_of_process(attribution->launch_stacks, pid, sample->header.time,
								   LAUNCH_STACK_OF_UNKNOWN_CODE);
	uint32_t location = code_locations_find_unknown(attribution->locations, device, sample->address,
							busy && busy->pid == pid ? busy->label : 0);
	if (!add_target(attribution, sample, launch_stack, location, false, 1))
		return false;
	saturating_increase(&became->unmatched, total);
	saturating_increase(&became->unmatched_reasons[launch_candidates_unmatched(attribution->candidates, sample)],
			    total);
	return true;
}

bool attribution_add(struct attribution *attribution, const struct iaprof_record_stall_sample *sample,
		     struct device_samples *became)
{
	uint64_t total = attribution_total(sample);
	attribution->span = 0;
	if (attribution->launch)
		set_span(attribution, &attribution->launch->span, total);
	proportional_split_begin(&attribution->split);
	bool done = attribution->candidates->count ? match_candidates(attribution, sample, became, total)
						   : match_unknown(attribution, sample, became, total);
	if (!done)
		return false;
	became->samples = saturating_add(became->samples, total);
	divide(attribution, sample, total, begin_of(became, sample));
	return true;
}
