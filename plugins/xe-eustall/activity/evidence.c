/* SPDX-License-Identifier: Apache-2.0 */
/* See evidence.h. */
#include <iaprof/record.h>
#include "evidence.h"
#include "machine.h"

/* Less than this is not looked at; and how much less it may know: four engines at once are four times the time. */
#define DOUBT_BUSY UINT64_C(50000000) /* ns */
#define DOUBT_PART 8u

bool evidence_kernel_tells(const char *release)
{
	return kernel_release_is_at_least(release, 6, 18);
}

uint32_t evidence_kind(bool kernel_tells, size_t doubts, size_t unread)
{
	return kernel_tells && !doubts && !unread ? IAPROF_ACTIVITY_SCHEDULER : IAPROF_ACTIVITY_STATISTICS;
}

static uint64_t busy_of(const struct busy_piece *sums, size_t count, const struct busy_piece *process, uint32_t kind)
{
	for (size_t i = 0; i < count; i++)
		if (sums[i].device == process->device && sums[i].pid == process->pid && sums[i].kind == kind)
			return sums[i].busy;
	return 0;
}

bool evidence_contradicts(const struct busy_piece *window, size_t count, const struct busy_piece *statistics)
{
	return statistics->kind == IAPROF_ACTIVITY_STATISTICS && statistics->busy >= DOUBT_BUSY &&
	       busy_of(window, count, statistics, IAPROF_ACTIVITY_SCHEDULER) < statistics->busy / DOUBT_PART;
}

/* Whether the scheduler knows as much of a process as its statistics. */
static bool process_is_told(const struct busy_piece *window, size_t count, const struct busy_piece *process)
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
		return scheduled ||
		       (!device_has_scheduled(sums, count, sum->device) && !process_is_told(window, window_count, sum));
	/* The scheduler's times are the finer ones, where it has them. */
	if (scheduled)
		return process_is_told(window, window_count, sum) ||
		       !busy_of(sums, count, sum, IAPROF_ACTIVITY_STATISTICS);
	return !process_is_told(window, window_count, sum);
}

size_t evidence_choose(struct busy_piece *sums, size_t count, const uint32_t *kinds, const struct busy_piece *window,
		       size_t window_count)
{
	size_t kept = 0;

	/* Those that are wanted go to the front, and the others behind them: what is asked of all is asked of all. */
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
