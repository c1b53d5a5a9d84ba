/* SPDX-License-Identifier: Apache-2.0 */
/* See busy_times.h. */
#include <string.h>
#include "busy_times.h"

static void oldest_sum(struct busy_times *times)
{
	times->summed += times->intervals[0].end - times->intervals[0].begin;
	times->summed_until = times->intervals[0].end;
	times->count--;
	memmove(times->intervals, times->intervals + 1, times->count * sizeof *times->intervals);
}

uint64_t busy_times_add(struct busy_times *times, uint64_t begin, uint64_t end)
{
	uint64_t covered = 0;
	uint32_t at = times->count, overlapping;

	/* When jobs ran before the oldest interval is not known any more. */
	begin = begin < times->summed_until ? times->summed_until : begin;
	if (end <= begin)
		return 0;
	uint64_t from = begin, to = end;
	/* Nearly always, the last interval ends before this one begins, or overlaps it. */
	while (at && times->intervals[at - 1].begin > end)
		at--;
	for (overlapping = at; overlapping && times->intervals[overlapping - 1].end >= begin; overlapping--) {
		uint64_t its_begin = times->intervals[overlapping - 1].begin,
			 its_end = times->intervals[overlapping - 1].end;
		covered += (its_end < end ? its_end : end) - (its_begin > begin ? its_begin : begin);
		from = its_begin < from ? its_begin : from;
		to = its_end > to ? its_end : to;
	}
	/* One interval takes the place of those that overlap. */
	if (overlapping == at) {
		if (times->count == BUSY_INTERVALS && at == 0) {
			/* It precedes all that are kept. */
			times->summed += end - begin;
			times->summed_until = end;
			return end - begin;
		}
		if (times->count == BUSY_INTERVALS) {
			oldest_sum(times);
			at--;
		}
		memmove(times->intervals + at + 1, times->intervals + at,
			(times->count - at) * sizeof *times->intervals);
		times->count++;
		overlapping = at;
	} else {
		memmove(times->intervals + overlapping + 1, times->intervals + at,
			(times->count - at) * sizeof *times->intervals);
		times->count -= at - overlapping - 1;
	}
	times->intervals[overlapping].begin = from;
	times->intervals[overlapping].end = to;
	return end - begin - covered;
}

uint64_t busy_times_total(const struct busy_times *times)
{
	uint64_t total = times->summed;

	for (uint32_t i = 0; i < times->count; i++)
		total += times->intervals[i].end - times->intervals[i].begin;
	return total;
}
