/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that a process made at run time: see perf_map.h. */
#include "symbolizer/perf_map.h"

#include <errno.h>
#include <string.h>

void perf_map_free(struct perf_map *map)
{
	array_free(&map->entries);
	array_free(&map->names);
	range_table_free(&map->ranges);
}

/* A hexadecimal number, with or without 0x, and the white space after it; NULL when there is none. */
static const char *parse_number(const char *text, const char *end, uint64_t *number)
{
	static const char digits[] = "0123456789abcdef";
	if (end - text > 2 && text[0] == '0' && (text[1] | 0x20) == 'x')
		text += 2;
	const char *first = text;
	*number = 0;
	for (; text < end; text++) {
		const char *digit = *text ? strchr(digits, *text >= 'A' && *text <= 'F' ? *text | 0x20 : *text) : NULL;
		if (!digit)
			break;
		if (*number >> 60)
			return NULL;
		*number = *number << 4 | (uint64_t)(digit - digits);
	}
	if (text == first || text == end || (*text != ' ' && *text != '\t'))
		return NULL;
	while (text < end && (*text == ' ' || *text == '\t'))
		text++;
	return text;
}

static int add_line(struct perf_map *map, const char *text, const char *end)
{
	struct perf_map_entry entry = { .name = map->names.count };
	uint64_t size;
	if (text < end && end[-1] == '\r')
		end--;
	text = parse_number(text, end, &entry.start);
	text = text ? parse_number(text, end, &size) : NULL;
	if (!text || text == end || memchr(text, '\0', (size_t)(end - text)) || size > UINT64_MAX - entry.start) {
		map->skipped++;
		return 0;
	}
	if (!size)
		return 0; /* as V8 writes for code that has moved away */
	entry.end = entry.start + size;
	size_t length = (size_t)(end - text);
	if (!array_reserve(&map->names, map->names.count + length + 1) || map->entries.count >= RANGE_NONE - 1 ||
	    !array_push(&map->entries, entry))
		return -ENOMEM;
	memcpy(map->names.items + map->names.count, text, length);
	map->names.count += length;
	map->names.items[map->names.count++] = '\0';
	return 0;
}

long perf_map_add(struct perf_map *map, const char *text, size_t length)
{
	const char *next = text, *limit = text + length;
	for (const char *end; next < limit && (end = memchr(next, '\n', (size_t)(limit - next))); next = end + 1)
		if (end > next && add_line(map, next, end))
			return -ENOMEM;
	return next - text;
}

/* Entries that hold the address that the sweep is at, the newest at the top: a binary heap of positions. */
typedef ARRAY(uint32_t) position_heap;

static bool heap_push(position_heap *heap, uint32_t position)
{
	if (!array_push(heap, position))
		return false;
	size_t child = heap->count - 1;
	while (child && heap->items[(child - 1) / 2] < position) {
		heap->items[child] = heap->items[(child - 1) / 2];
		child = (child - 1) / 2;
	}
	heap->items[child] = position;
	return true;
}

static void heap_pop(position_heap *heap)
{
	uint32_t last = heap->items[--heap->count];
	size_t hole = 0;
	for (;;) {
		size_t child = 2 * hole + 1;
		if (child >= heap->count)
			break;
		if (child + 1 < heap->count && heap->items[child + 1] > heap->items[child])
			child++;
		if (heap->items[child] < last)
			break;
		heap->items[hole] = heap->items[child];
		hole = child;
	}
	if (heap->count)
		heap->items[hole] = last;
}

/* [start, end) is of this entry; grows the newest range where it can. */
static bool emit(struct range_table *ranges, uint64_t start, uint64_t end, uint32_t position)
{
	struct range *last = ranges->count ? &ranges->items[ranges->count - 1] : NULL;
	if (last && last->value == position && last->end == start) {
		last->end = end;
		return true;
	}
	return range_table_add(ranges, start, end, position);
}

/* Emits what the entries in the heap cover of [from, to): always the newest one that has not ended. */
static bool emit_until(const struct perf_map *map, position_heap *heap, struct range_table *ranges, uint64_t from,
		       uint64_t to)
{
	while (heap->count && from < to) {
		uint32_t newest = heap->items[0];
		uint64_t end = map->entries.items[newest].end;
		if (end <= from) {
			heap_pop(heap);
			continue;
		}
		if (end > to)
			end = to;
		if (!emit(ranges, from, end, newest))
			return false;
		from = end;
	}
	return true;
}

int perf_map_index(struct perf_map *map)
{
	struct range_table sorted = { 0 }, ranges = { 0 };
	position_heap heap = { 0 };
	bool done = true;
	for (size_t i = 0; done && i < map->entries.count; i++)
		done = range_table_add(&sorted, map->entries.items[i].start, map->entries.items[i].end, (uint32_t)i);
	if (done)
		range_table_sort(&sorted);
	for (size_t i = 0; done && i < sorted.count; i++) {
		uint64_t next = i + 1 < sorted.count ? sorted.items[i + 1].start : UINT64_MAX;
		done = heap_push(&heap, sorted.items[i].value) &&
		       emit_until(map, &heap, &ranges, sorted.items[i].start, next);
	}
	array_free(&heap);
	range_table_free(&sorted);
	if (!done) {
		range_table_free(&ranges);
		return -ENOMEM;
	}
	range_table_free(&map->ranges);
	map->ranges = ranges;
	range_table_link(&map->ranges);
	return 0;
}

const char *perf_map_find(const struct perf_map *map, uint64_t address, uint64_t *start)
{
	const struct range *range = range_table_find(&map->ranges, address);
	if (!range)
		return NULL;
	*start = map->entries.items[range->value].start;
	return map->names.items + map->entries.items[range->value].name;
}
