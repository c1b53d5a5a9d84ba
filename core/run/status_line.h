/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a run on standard error while it is active. */
#pragma once

#include "run/collector_thread.h"

/* The most recently printed status; {0} at first. */
struct status {
	uint64_t elapsed; /* ns */
	struct call_families calls;
};

/* Prints "12.0 s  1187 samples  0 lost" below a line for each family of calls since the last status. */
void status_line_show(struct status *last, uint64_t elapsed, const struct collector_thread_progress *progress);

/*
 * Formats a line for each family of the calls between two times, duration ns apart, without a newline after the last
 * one. Returns the length, less than size; 0 without calls.
 */
size_t status_line_calls(const struct call_families *before, const struct call_families *now, uint64_t duration,
			 char *text, size_t size);
