/* SPDX-License-Identifier: Apache-2.0 */
/* See memory_ranges.h. */
#include "process/memory_ranges.h"

#include <string.h>

void mapping_release(struct shared_mapping *mapping)
{
	if (--mapping->references)
		return;
	if (mapping->account)
		mapping->account->amount--;
	free(mapping);
}

void memory_ranges_free(struct memory_range_array *ranges)
{
	for (size_t i = 0; i < ranges->count; i++)
		mapping_release(ranges->items[i].mapping);
	array_free(ranges);
}

/* Returns the first range whose end, or until, is greater than value; the array is sorted by it. */
static size_t search(const struct memory_range_array *ranges, uint64_t value, bool by_time)
{
	size_t low = 0, high = ranges->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if ((by_time ? ranges->items[middle].until : ranges->items[middle].end) > value)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

size_t memory_ranges_search_address(const struct memory_range_array *current, uint64_t address)
{
	return search(current, address, false);
}

size_t memory_ranges_search_time(const struct memory_range_array *history, uint64_t time)
{
	return search(history, time, true);
}

static void history_insert(struct memory_range_array *history, struct memory_range range)
{
	size_t at = history->count;
	while (at && history->items[at - 1].until > range.until)
		at--;
	memmove(&history->items[at + 1], &history->items[at], (history->count - at) * sizeof range);
	history->items[at] = range;
	history->count++;
	range.mapping->references++;
}

void memory_range_add(struct memory_range_array *current, struct memory_range_array *history, struct memory_range range)
{
	size_t first = memory_ranges_search_address(current, range.start), last = first;
	struct memory_range ranges[3];
	size_t count = 0;

	range.until = UINT64_MAX;
	if (first < current->count && current->items[first].start < range.start) {
		ranges[count] = current->items[first];
		ranges[count++].end = range.start;
	}
	ranges[count++] = range;
	for (; last < current->count && current->items[last].start < range.end; last++) {
		struct memory_range replaced = current->items[last];
		if (replaced.end > range.end) {
			ranges[count] = replaced;
			ranges[count++].start = range.end;
		}
		replaced.start = larger(replaced.start, range.start);
		replaced.end = smaller(replaced.end, range.end);
		replaced.until = range.begin;
		if (replaced.begin < replaced.until)
			history_insert(history, replaced);
	}
	for (size_t i = 0; i < count; i++)
		ranges[i].mapping->references++;
	for (size_t i = first; i < last; i++)
		mapping_release(current->items[i].mapping);
	memmove(&current->items[first + count], &current->items[last],
		(current->count - last) * sizeof *current->items);
	memcpy(&current->items[first], ranges, count * sizeof *ranges);
	current->count += count - (last - first);
}

int memory_range_compare(const void *left, const void *right)
{
	const struct memory_range *a = left, *b = right;
	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->until < b->until ? -1 : a->until > b->until;
}

bool memory_ranges_build(struct memory_range *list, size_t count, struct memory_range_array *current,
			 struct memory_range_array *history)
{
	/* A placement creates up to 3 ranges, and each can become history once. */
	if (count && (!array_reserve(current, 2 * count + 1) || !array_reserve(history, 3 * count)))
		return false;
	for (size_t i = 0; i < count; i++)
		list[i].until = i;
	if (count)
		qsort(list, count, sizeof *list, memory_range_compare);
	for (size_t i = 0; i < count; i++)
		memory_range_add(current, history, list[i]);
	return true;
}
