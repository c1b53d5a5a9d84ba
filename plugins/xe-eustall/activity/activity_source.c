/* SPDX-License-Identifier: Apache-2.0 */
/* See activity_source.h. */
#include <iaprof/record.h>
#include "activity_source.h"
#include "base/machine.h"

/*
 * Minimum busy time that is compared, and the minimum share of it that the scheduler must report: with four engines at
 * once, the statistics add up to four times as much.
 */
#define DOUBT_BUSY UINT64_C(50000000) /* ns */
#define DOUBT_PART 8u

bool activity_source_reports_job_ends(const char *release)
{
	return kernel_release_is_at_least(release, 6, 18);
}

uint32_t activity_source_kind(bool reports_job_ends, size_t doubts, size_t unread)
{
	return reports_job_ends && !doubts && !unread ? IAPROF_ACTIVITY_SCHEDULER : IAPROF_ACTIVITY_STATISTICS;
}

static uint64_t busy_of(const struct busy_piece *sums, size_t count, const struct busy_piece *process, uint32_t kind)
{
	for (size_t i = 0; i < count; i++)
		if (sums[i].device == process->device && sums[i].pid == process->pid && sums[i].kind == kind)
			return sums[i].busy;
	return 0;
}

bool activity_source_contradicts(const struct busy_piece *window, size_t count, const struct busy_piece *statistics)
{
	return statistics->kind == IAPROF_ACTIVITY_STATISTICS && statistics->busy >= DOUBT_BUSY &&
	       busy_of(window, count, statistics, IAPROF_ACTIVITY_SCHEDULER) < statistics->busy / DOUBT_PART;
}

/* Returns whether the scheduler reports as much of a process's activity as its statistics. */
static bool scheduler_covers_process(const struct busy_piece *window, size_t count, const struct busy_piece *process)
{
	uint64_t scheduled = busy_of(window, count, process, IAPROF_ACTIVITY_SCHEDULER);

	return scheduled && scheduled >= busy_of(window, count, process, IAPROF_ACTIVITY_STATISTICS) / DOUBT_PART;
}

static bool device_has_scheduled(const struct busy_piece *sums, size_t count, uint32_t device)
{
	for (size_t i = 0; i < count; i++)
		if (sums[i].device == device && sums[i].kind == IAPROF_ACTIVITY_SCHEDULER)
			return true;
	return false;
}

static bool sum_is_wanted(const struct busy_piece *sums, size_t count, size_t index, const uint32_t *kinds,
			  const struct busy_piece *window, size_t window_count)
{
	const struct busy_piece *sum = &sums[index];
	bool scheduled = sum->kind == IAPROF_ACTIVITY_SCHEDULER;

	if (kinds[sum->device] == IAPROF_ACTIVITY_SCHEDULER)
		return scheduled || (!device_has_scheduled(sums, count, sum->device) &&
				     !scheduler_covers_process(window, window_count, sum));
	/* The scheduler's times are more precise, where available. */
	if (scheduled)
		return scheduler_covers_process(window, window_count, sum) ||
		       !busy_of(sums, count, sum, IAPROF_ACTIVITY_STATISTICS);
	return !scheduler_covers_process(window, window_count, sum);
}

size_t activity_source_choose(struct busy_piece *sums, size_t count, const uint32_t *kinds,
			      const struct busy_piece *window, size_t window_count)
{
	size_t kept = 0;

	/*
	 * Moves the chosen sums to the front and keeps the others behind them, because each decision considers all
	 * sums.
	 */
	for (size_t i = 0; i < count; i++) {
		if (!sum_is_wanted(sums, count, i, kinds, window, window_count))
			continue;
		struct busy_piece wanted = sums[i];
		sums[i] = sums[kept];
		sums[kept++] = wanted;
	}
	for (size_t i = 0; i < kept; i++)
		if (kinds[sums[i].device] != IAPROF_ACTIVITY_SCHEDULER)
			sums[i].kind = IAPROF_ACTIVITY_STATISTICS;
	return kept;
}
