/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of one kernel over time: see launch_history.h. */
#include "correlator/launch_history.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturating.h"

/* Launches that a source reports together occurred within at most this interval. */
#define LAUNCHES_TOGETHER (NANOSECONDS_PER_SECOND / 10)

static int compare_prefix(const void *left, const void *right)
{
	const struct kernel_launches *a = left, *b = right;
	return a->launch_stack < b->launch_stack ? -1 : a->launch_stack > b->launch_stack;
}

/* Merges launches by stack. Returns the remaining number. */
static size_t merge(struct kernel_launches *launches, size_t count, uint64_t *merged)
{
	size_t kept = 0;
	qsort(launches, count, sizeof *launches, compare_prefix);
	for (size_t i = 0; i < count; i++) {
		struct kernel_launches *last = kept ? &launches[kept - 1] : NULL;
		if (!last || last->launch_stack != launches[i].launch_stack) {
			launches[kept++] = launches[i];
			continue;
		}
		*merged = saturating_add(*merged, launches[i].count);
		last->count = saturating_add(last->count, launches[i].count);
		if (launches[i].last_time > last->last_time)
			last->last_time = launches[i].last_time;
		if (launches[i].first_time < last->first_time)
			last->first_time = launches[i].first_time;
		if (memcmp(&last->span, &launches[i].span, sizeof last->span) != 0)
			last->span = (struct iaprof_span){ 0 };
	}
	return kept;
}

/* Makes room: merges the older half by stack. If most stacks are distinct, drops that half. */
static void make_room(struct kernel *kernel, uint64_t *merged)
{
	struct kernel_launches *items = kernel->launches.items;
	size_t half = kernel->launches.count / 2, kept = merge(items, half, merged);
	if (kept > half / 2) {
		for (size_t i = 0; i < kept; i++) {
			*merged = saturating_add(*merged, items[i].count);
			if (items[i].last_time > kernel->dropped)
				kernel->dropped = items[i].last_time;
		}
		kept = 0;
	}
	memmove(items + kept, items + half, (kernel->launches.count - half) * sizeof *items);
	kernel->launches.count -= half - kept;
}

bool launch_history_add(struct kernel *kernel, const struct kernel_launches *launches, uint64_t *merged)
{
	if (kernel->launches.count >= LAUNCHES_MAX)
		make_room(kernel, merged);
	kernel->shares_end = 0;
	if (!array_push(&kernel->launches, *launches))
		return false;
	if (launches->last_time > kernel->newest)
		kernel->newest = launches->last_time;
	return true;
}

/* Launches of code that was at the address before or after are another kernel's, also of one with the same name. */
static bool is_in_life(const struct kernel_launches *launches, struct code_life life)
{
	return launches->last_time >= life.loaded && launches->first_time <= life.unloaded;
}

bool launch_history_were_before(const struct kernel *kernel, uint64_t time, uint64_t within, struct code_life life)
{
	if (kernel->newest < time && time - kernel->newest >= within)
		return false;
	for (size_t i = 0; i < kernel->launches.count; i++) {
		const struct kernel_launches *launches = &kernel->launches.items[i];
		if (launches->first_time < time && is_in_life(launches, life) &&
		    (launches->last_time >= time || time - launches->last_time < within))
			return true;
	}
	return false;
}

/*
 * Returns how many of several launches were between two times, assuming an even distribution between the first and the
 * last.
 */
static double launches_between(const struct kernel_launches *launches, uint64_t begin, uint64_t end)
{
	uint64_t first = launches->first_time, last = launches->last_time;
	if (last < begin || first > end)
		return 0;
	if (launches->count == 1)
		return last <= end;
	if (first >= begin && last <= end)
		return (double)launches->count;
	uint64_t from = first > begin ? first : begin, to = last < end ? last : end;
	return (double)(first >= begin) + (double)(last <= end) +
	       (double)(launches->count - 2) * (double)(to - from) / (double)(last - first);
}

static void add_share(struct kernel *kernel, const struct kernel_launches *launches, double weight)
{
	if (weight > 0)
		(void)array_push(&kernel->shares,
				 ((struct kernel_share){ .launch_stack = launches->launch_stack, .weight = weight }));
}

static int compare_shares(const void *left, const void *right)
{
	const struct kernel_share *a = left, *b = right;
	return a->launch_stack < b->launch_stack ? -1 : a->launch_stack > b->launch_stack;
}

/* Merges shares by stack. */
static void merge_shares(struct kernel *kernel)
{
	struct kernel_share *shares = kernel->shares.items;
	size_t kept = 0;
	if (kernel->shares.count > 1)
		qsort(shares, kernel->shares.count, sizeof *shares, compare_shares);
	for (size_t i = 0; i < kernel->shares.count; i++)
		if (kept && shares[kept - 1].launch_stack == shares[i].launch_stack)
			shares[kept - 1].weight += shares[i].weight;
		else
			shares[kept++] = shares[i];
	kernel->shares.count = kept;
}

/*
 * Returns the span of all launches from LAUNCH_RUNS_FOR before a time until another one. Samples do not state their
 * launch: if there are launches of several spans, or some without one, the span is unknown.
 */
static struct iaprof_span span_between(const struct kernel *kernel, uint64_t begin, uint64_t end, struct code_life life)
{
	uint64_t from = begin > LAUNCH_RUNS_FOR ? begin - LAUNCH_RUNS_FOR : 0;
	const struct iaprof_span none = { 0 }, *span = &none;
	if (kernel->dropped && kernel->dropped >= from)
		return none;
	for (size_t i = 0; i < kernel->launches.count; i++) {
		const struct kernel_launches *launches = &kernel->launches.items[i];
		if (launches->last_time < from || launches->first_time > end || !is_in_life(launches, life))
			continue;
		if (!iaprof_span_is_valid(&launches->span) ||
		    (span != &none && memcmp(span, &launches->span, sizeof *span) != 0))
			return none;
		span = &launches->span;
	}
	return *span;
}

void launch_history_share(struct kernel *kernel, uint64_t begin, uint64_t end, struct code_life life)
{
	uint64_t before = 0, after = UINT64_MAX;
	const struct kernel_launches *items = kernel->launches.items;
	bool is_gap = true; /* no launches in the interval */
	kernel->shares.count = 0;
	for (size_t i = 0; i < kernel->launches.count; i++) {
		if (!is_in_life(&items[i], life))
			continue;
		is_gap &= items[i].last_time < begin || items[i].first_time > end;
		add_share(kernel, &items[i], launches_between(&items[i], begin, end));
		if (items[i].last_time < begin && items[i].last_time > before)
			before = items[i].last_time;
		if (items[i].first_time > end && items[i].first_time < after)
			after = items[i].first_time;
	}
	kernel->shares_in_time = kernel->shares.count > 0;
	for (size_t i = 0; !kernel->shares_in_time && i < kernel->launches.count; i++) {
		bool counts = before ? items[i].last_time <= before && before - items[i].last_time < LAUNCHES_TOGETHER
				     : items[i].first_time >= after && items[i].first_time - after < LAUNCHES_TOGETHER;
		if (counts && is_in_life(&items[i], life))
			add_share(kernel, &items[i], (double)items[i].count);
	}
	merge_shares(kernel);
	kernel->shares_span = span_between(kernel, kernel->shares_in_time || !before ? begin : before, end, life);
	kernel->shares_begin = begin;
	kernel->shares_end = end;
	/* A source that reports each execution asks for the same gap thousands of times. */
	kernel->shares_after = is_gap ? before : 0;
	kernel->shares_before = after;
	kernel->shares_life = life;
}
