/* SPDX-License-Identifier: Apache-2.0 */
/* A sample's counts to stacks: see matching.h. */
#include "correlator/matching.h"

void matching_free(struct matching *matching)
{
	division_free(&matching->division);
}

uint64_t matching_total(const struct iaprof_record_stall_sample *sample)
{
	const uint64_t *counts = iaprof_record_stall_sample_counts(sample);
	uint64_t total = 0;
	for (uint32_t i = 0; i < sample->reason_count; i++)
		total = saturating_add(total, counts[i]);
	return total;
}

/*
 * When a sample was taken, as the profile tells it. Who was busy is looked for from a little earlier on, for hardware
 * may have kept it for a while; intervals that overlap would show times as twice as busy.
 */
static uint64_t begin_of(struct device_samples *device, const struct iaprof_record_stall_sample *sample)
{
	uint64_t end = sample->header.time;
	if (end > device->interval_end) {
		device->before_end = device->interval_end;
		device->interval_end = end;
	}
	bool overlaps = end == device->interval_end && sample->begin < device->before_end && device->before_end < end;
	return overlaps ? device->before_end : sample->begin;
}

/* Adds a sample's counts to the targets of the division, each reason by itself. */
static void divide(struct matching *matching, const struct iaprof_record_stall_sample *sample, uint64_t begin)
{
	const uint64_t *counts = iaprof_record_stall_sample_counts(sample);
	struct division *division = &matching->division;
	for (uint32_t reason = 0; reason < sample->reason_count; reason++) {
		if (!counts[reason])
			continue;
		division_divide(division, counts[reason]);
		for (size_t i = 0; i < division->targets.count; i++)
			if (division->targets.items[i].part)
				stacks_add(matching->stacks, &division->targets.items[i].key, reason, begin,
					   sample->header.time, division->targets.items[i].part);
	}
}

static bool add_target(struct matching *matching, const struct iaprof_record_stall_sample *sample, uint32_t prefix,
		       uint32_t place, bool ambiguous, double weight)
{
	struct stacks_key key = { .prefix = prefix,
				  .place = place,
				  .source = sample->header.source,
				  .ambiguous = ambiguous,
				  .reasons = stacks_reasons(sample->reason_count) };
	return prefix != FRAME_NONE && place != PLACE_NONE && division_add(&matching->division, &key, weight);
}

/* The stacks that launched a suspect's kernels share its part. */
static bool add_suspect(struct matching *matching, const struct iaprof_record_stall_sample *sample,
			const struct suspect *suspect, bool ambiguous, bool *launched)
{
	const struct kernel_share *shares;
	*launched |= suspect->launches > 0;
	if (suspect->launches <= 0)
		return add_target(
			matching, sample,
			prefixes_of_process(matching->prefixes, suspect->pid, sample->header.time, PREFIX_NOT_LAUNCHED),
			suspect->place, ambiguous, suspect->weight);
	for (size_t i = 0; i < suspect->kernel_count; i++)
		for (size_t k = suspects_shares(matching->suspects, sample, suspect, i, &shares); k-- > 0;)
			if (!add_target(matching, sample, shares[k].prefix, suspect->place, ambiguous,
					suspect->weight * shares[k].weight / suspect->launches))
				return false;
	return true;
}

static bool match_suspects(struct matching *matching, const struct iaprof_record_stall_sample *sample,
			   struct device_samples *became, uint64_t total)
{
	struct suspects *suspects = matching->suspects;
	bool ambiguous = suspects->count > 1 || suspects->items[0].shared || suspects->uncertain, launched = false;
	for (size_t i = 0; i < suspects->count; i++)
		if (!add_suspect(matching, sample, &suspects->items[i], ambiguous, &launched))
			return false;
	*(ambiguous ? &became->ambiguous : &became->matched) += total;
	became->unlaunched += launched || ambiguous ? 0 : total;
	return true;
}

/* Of code that nobody knows, the process at most. */
static bool match_unknown(struct matching *matching, const struct iaprof_record_stall_sample *sample,
			  struct device_samples *became, uint64_t total)
{
	const struct busy_process *busy = suspects_only_busy(matching->suspects, sample);
	uint32_t pid = sample->pid ? sample->pid : busy ? busy->pid : 0;
	uint64_t device = (uint64_t)sample->header.source << 32 | sample->device;
	uint32_t prefix = prefixes_of_process(matching->prefixes, pid, sample->header.time, PREFIX_OF_UNKNOWN_CODE);
	uint32_t place = places_of_unknown(matching->places, device, sample->address,
					   busy && busy->pid == pid ? busy->label : 0);
	if (!add_target(matching, sample, prefix, place, false, 1))
		return false;
	became->unmatched += total;
	return true;
}

bool matching_give(struct matching *matching, const struct iaprof_record_stall_sample *sample,
		   struct device_samples *became)
{
	uint64_t total = matching_total(sample);
	division_begin(&matching->division);
	bool done = matching->suspects->count ? match_suspects(matching, sample, became, total)
					      : match_unknown(matching, sample, became, total);
	if (!done)
		return false;
	became->samples = saturating_add(became->samples, total);
	divide(matching, sample, begin_of(became, sample));
	return true;
}
