/* SPDX-License-Identifier: Apache-2.0 */
/* Busy times of processes during the last two seconds, and their sums over an interval. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Maximum number of pieces: two seconds of 10 ms, with 40 busy processes each. */
#define BUSY_HISTORY_SIZE 8192u
#define BUSY_HISTORY_TIME UINT64_C(2000000000) /* ns */

/* A process kept a device busy for busy ns between begin and end. */
struct busy_piece {
	uint64_t begin;
	uint64_t end;
	uint64_t busy;
	uint32_t device; /* the caller's number of the PCI device */
	uint32_t pid;
	uint32_t kind; /* enum iaprof_activity_kind */
	uint32_t pad;
};

/* A ring; initialise with {0}. */
struct busy_history {
	struct busy_piece *pieces; /* BUSY_HISTORY_SIZE of them, NULL before the first */
	size_t first;
	size_t count;
	uint64_t forgotten; /* pieces dropped early for lack of room */
	uint64_t goes_on;   /* pieces that end at this time are assumed to continue: there is no newer information */
};

/* Adds a piece, nearly in order of end times; the history is kept sorted. Returns 0 or -ENOMEM. */
int busy_history_add(struct busy_history *history, const struct busy_piece *piece);

/* Drops pieces that ended before a time. */
void busy_history_expire(struct busy_history *history, uint64_t time);

/*
 * Adds up the activity between begin and end by device, process and kind, into at most capacity sums. A piece that lies
 * partly in the interval counts proportionally. Returns the number of sums.
 */
size_t busy_history_collect(const struct busy_history *history, uint64_t begin, uint64_t end, struct busy_piece *sums,
			    size_t capacity);

void busy_history_free(struct busy_history *history);
