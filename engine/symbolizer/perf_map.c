/* SPDX-License-Identifier: Apache-2.0 */
/* See perf_map.h. */
#include "symbolizer/perf_map.h"

#include <errno.h>
#include <string.h>

#include "text/text_span.h"

void perf_map_free(struct perf_map *map)
{
	array_free(&map->entries);
	array_free(&map->names);
	range_table_free(&map->ranges);
}

/* Takes a hexadecimal number, with or without 0x, that is followed by a blank. */
static bool take_number(struct text_span *line, uint64_t *number)
{
	struct text_span word = span_take_word(line);
	if (word.length > 2 && word.text[0] == '0' && (word.text[1] | 0x20) == 'x')
		word = span_part(word, 2, word.length);
	return line->length && span_hexadecimal(word, number);
}

int perf_map_add_function(struct perf_map *map, uint64_t start, uint64_t size, const char *name, size_t length)
{
	const struct perf_map_entry entry = { .start = start, .end = start + size, .name = map->names.count };
	if (!length || memchr(name, '\0', length) || size > UINT64_MAX - start) {
		map->skipped++;
		return 0;
	}
	if (!size)
		return 0; /* as V8 writes for code that was moved */
	if (!array_reserve(&map->names, map->names.count + length + 1) || map->entries.count >= RANGE_NONE - 1 ||
	    !array_push(&map->entries, entry))
		return -ENOMEM;
	memcpy(map->names.items + map->names.count, name, length);
	map->names.count += length;
	map->names.items[map->names.count++] = '\0';
	return 0;
}

static int add_line(struct perf_map *map, struct text_span line)
{
	uint64_t start, size;
	if (span_ends(line, "\r"))
		line.length--;
	bool is_sound = line.length && !is_blank(*line.text) && take_number(&line, &start) && take_number(&line, &size);
	while (is_sound && line.length && is_blank(*line.text))
		line = span_part(line, 1, line.length);
	if (!is_sound) {
		map->skipped++;
		return 0;
	}
	return perf_map_add_function(map, start, size, line.text, line.length);
}

long perf_map_add(struct perf_map *map, const char *text, size_t length)
{
	const char *next = text, *limit = text + length;
	for (const char *end; next < limit && (end = memchr(next, '\n', (size_t)(limit - next))); next = end + 1)
		if (end > next && add_line(map, (struct text_span){ next, (size_t)(end - next) }))
			return -ENOMEM;
	return next - text;
}

/* Entries that contain the current address of the sweep, the newest at the top: a binary heap of positions. */
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

/* Adds [start, end) for an entry; extends the last range if possible. */
static bool emit(struct range_table *ranges, uint64_t start, uint64_t end, uint32_t position)
{
	struct range *last = ranges->count ? &ranges->items[ranges->count - 1] : NULL;
	if (last && last->value == position && last->end == start) {
		last->end = end;
		return true;
	}
	return range_table_add(ranges, start, end, position);
}

/* Adds what the entries in the heap cover of [from, to): always the newest one that has not ended. */
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
