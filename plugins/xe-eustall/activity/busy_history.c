/* SPDX-License-Identifier: Apache-2.0 */
/* See busy_history.h. */
#include <errno.h>
#include <stdlib.h>
#include "busy_history.h"

static struct busy_piece *piece_at(const struct busy_history *history, size_t index)
{
	return &history->pieces[(history->first + index) % BUSY_HISTORY_SIZE];
}

int busy_history_add(struct busy_history *history, const struct busy_piece *piece)
{
	if (!history->pieces) {
		history->pieces = calloc(BUSY_HISTORY_SIZE, sizeof *history->pieces);
		if (!history->pieces)
			return -ENOMEM;
	}
	if (history->count == BUSY_HISTORY_SIZE) {
		history->first = (history->first + 1) % BUSY_HISTORY_SIZE;
		history->count--;
		history->forgotten++;
	}
	/* Two threads add pieces: one may arrive after others that end later. */
	size_t place = history->count++;
	for (; place > 0 && piece_at(history, place - 1)->end > piece->end; place--)
		*piece_at(history, place) = *piece_at(history, place - 1);
	*piece_at(history, place) = *piece;
	return 0;
}

void busy_history_expire(struct busy_history *history, uint64_t time)
{
	while (history->count && piece_at(history, 0)->end < time) {
		history->first = (history->first + 1) % BUSY_HISTORY_SIZE;
		history->count--;
	}
}

/* Returns the busy time of a piece within an interval, rounded up, so that short activity is not lost. */
static uint64_t busy_inside(const struct busy_piece *piece, uint64_t piece_end, uint64_t begin, uint64_t end)
{
	uint64_t from = piece->begin > begin ? piece->begin : begin;
	uint64_t to = piece_end < end ? piece_end : end;

	if (from >= to)
		return 0;
	unsigned __int128 product = (unsigned __int128)piece->busy * (to - from);
	uint64_t length = piece->end - piece->begin;
	return (uint64_t)((product + length - 1) / length);
}

static struct busy_piece *sum_find(struct busy_piece *sums, size_t count, const struct busy_piece *piece)
{
	for (size_t i = 0; i < count; i++)
		if (sums[i].device == piece->device && sums[i].pid == piece->pid && sums[i].kind == piece->kind)
			return &sums[i];
	return NULL;
}

size_t busy_history_collect(const struct busy_history *history, uint64_t begin, uint64_t end, struct busy_piece *sums,
			    size_t capacity)
{
	size_t count = 0;

	/* Newest first: pieces are sorted by end time. */
	for (size_t i = history->count; i-- > 0;) {
		const struct busy_piece *piece = piece_at(history, i);
		uint64_t piece_end = piece->end == history->goes_on && piece->end < end ? end : piece->end;
		if (piece_end <= begin) {
			/* Continuing pieces may be behind newer ones of the other kind that do not continue. */
			if (piece->end < history->goes_on)
				break;
			continue;
		}
		uint64_t busy = busy_inside(piece, piece_end, begin, end);
		if (!busy)
			continue;
		struct busy_piece *sum = sum_find(sums, count, piece);
		if (!sum) {
			if (count == capacity)
				continue;
			sum = &sums[count++];
			*sum = *piece;
			sum->begin = begin;
			sum->end = end;
			sum->busy = 0;
		}
		sum->busy += busy;
	}
	return count;
}

void busy_history_free(struct busy_history *history)
{
	free(history->pieces);
	*history = (struct busy_history){ 0 };
}
