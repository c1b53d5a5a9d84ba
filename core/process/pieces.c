/* SPDX-License-Identifier: Apache-2.0 */
/* Address ranges that belong to one mapping for a while: see pieces.h. */
#include "process/pieces.h"

#include <string.h>

void mapping_release(struct shared_mapping *mapping)
{
	if (--mapping->references)
		return;
	if (mapping->account)
		mapping->account->amount--;
	free(mapping);
}

void pieces_free(struct piece_array *pieces)
{
	for (size_t i = 0; i < pieces->count; i++)
		mapping_release(pieces->items[i].mapping);
	array_free(pieces);
}

size_t pieces_search_address(const struct piece_array *current, uint64_t address)
{
	size_t low = 0, high = current->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (current->items[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

size_t pieces_search_time(const struct piece_array *history, uint64_t time)
{
	size_t low = 0, high = history->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (history->items[middle].until > time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void history_insert(struct piece_array *history, struct piece piece)
{
	size_t at = history->count;
	while (at && history->items[at - 1].until > piece.until)
		at--;
	memmove(&history->items[at + 1], &history->items[at], (history->count - at) * sizeof piece);
	history->items[at] = piece;
	history->count++;
	piece.mapping->references++;
}

void piece_place(struct piece_array *current, struct piece_array *history, struct piece piece)
{
	size_t first = pieces_search_address(current, piece.start), last = first;
	struct piece pieces[3];
	size_t count = 0;

	piece.until = UINT64_MAX;
	if (first < current->count && current->items[first].start < piece.start) {
		pieces[count] = current->items[first];
		pieces[count++].end = piece.start;
	}
	pieces[count++] = piece;
	for (; last < current->count && current->items[last].start < piece.end; last++) {
		struct piece replaced = current->items[last];
		if (replaced.end > piece.end) {
			pieces[count] = replaced;
			pieces[count++].start = piece.end;
		}
		replaced.start = larger(replaced.start, piece.start);
		replaced.end = smaller(replaced.end, piece.end);
		replaced.until = piece.begin;
		if (replaced.begin < replaced.until)
			history_insert(history, replaced);
	}
	for (size_t i = 0; i < count; i++)
		pieces[i].mapping->references++;
	for (size_t i = first; i < last; i++)
		mapping_release(current->items[i].mapping);
	memmove(&current->items[first + count], &current->items[last],
		(current->count - last) * sizeof *current->items);
	memcpy(&current->items[first], pieces, count * sizeof *pieces);
	current->count += count - (last - first);
}

int piece_compare(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;
	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->until < b->until ? -1 : a->until > b->until;
}

bool pieces_build(struct piece *list, size_t count, struct piece_array *current, struct piece_array *history)
{
	/* A placement makes up to 3 pieces, and each can become history once. */
	if (count && (!array_reserve(current, 2 * count + 1) || !array_reserve(history, 3 * count)))
		return false;
	for (size_t i = 0; i < count; i++)
		list[i].until = i;
	if (count)
		qsort(list, count, sizeof *list, piece_compare);
	for (size_t i = 0; i < count; i++)
		piece_place(current, history, list[i]);
	return true;
}
