/* SPDX-License-Identifier: Apache-2.0 */
/* For how long which process was busy, in pieces of time of the last two seconds; and how much of it is in an interval.
 */
#ifndef IAPROF_XE_EUSTALL_BUSY_HISTORY_H
#define IAPROF_XE_EUSTALL_BUSY_HISTORY_H

#include <stddef.h>
#include <stdint.h>

/* Pieces kept at most: two seconds of 10 ms, with 40 busy processes in each. */
#define BUSY_HISTORY_SIZE 8192u
#define BUSY_HISTORY_TIME UINT64_C(2000000000) /* ns */

/* Between begin and end, which is later, a process kept a device busy for so many ns. */
struct busy_piece {
	uint64_t begin;
	uint64_t end;
	uint64_t busy;
	uint32_t device; /* the caller's number of a PCI device */
	uint32_t pid;
	uint32_t kind; /* enum iaprof_activity_kind */
	uint32_t pad;
};

/* A ring; initialise with {0}. */
struct busy_history {
	struct busy_piece *pieces; /* BUSY_HISTORY_SIZE of them, NULL before the first */
	size_t first;
	size_t count;
	uint64_t forgotten; /* pieces that were thrown away early for want of room */
	uint64_t goes_on;   /* pieces that end at this time are taken to go on as they were: nothing newer is known */
};

/* Pieces are added about in order of their ends, and kept so. Returns 0 or -ENOMEM. */
int busy_history_add(struct busy_history *history, const struct busy_piece *piece);

/* Forgets what ended before that time. */
void busy_history_expire(struct busy_history *history, uint64_t time);

/*
 * Adds up what each device and process did between begin and end, kind by kind, into at most capacity sums, whose begin
 * and end are those asked for. A piece that is partly inside counts in proportion. Returns how many there are.
 */
size_t busy_history_collect(const struct busy_history *history, uint64_t begin, uint64_t end, struct busy_piece *sums,
			    size_t capacity);

void busy_history_free(struct busy_history *history);

#endif
