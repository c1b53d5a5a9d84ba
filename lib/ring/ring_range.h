/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of a ring, as in --replay ring:-10m..now. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring_range {
	char *folder;      /* the caller frees it */
	uint64_t from, to; /* CLOCK_REALTIME ns; to UINT64_MAX: without end */
};

/*
 * Returns whether a path is a range of a ring rather than a file: "ring:FROM..TO", "ring:" (all of it), "FOLDER", or
 * "FOLDER:FROM..TO", where FOLDER exists.
 */
bool ring_range_is(const char *path);
/* Returns whether a path that is neither a file nor a range of a ring was meant as one: "ring2:-2m". */
bool ring_range_is_meant(const char *path);

/*
 * Reads a range. FROM and TO are "now", a time before now such as -10m (units s, m, h and d), a local time such as
 * 2026-11-26T13:00, 2026-11-26, or 13:00 today, with Z behind it in UTC, or @SECONDS since 1970; either may be empty.
 * Returns 0, or -EINVAL or -ENOMEM with the problem in wrong.
 */
int ring_range_parse(struct ring_range *range, const char *path, uint64_t now, char *wrong, size_t size);

/* Writes a time for people, in local time. */
void ring_time_describe(uint64_t time, char text[32]);
