/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a run on standard error while it is active. */
#pragma once

#include "bus/engine.h"
#include "text/text.h"

/* The most recently printed status; {0} at first. */
struct status {
	uint64_t elapsed; /* ns */
	struct call_families calls;
};

/* Prints "12.0 s  1187 samples  0 lost" below a line for each family of calls since the last status. */
void status_line_show(struct status *last, uint64_t elapsed, const struct engine_progress *progress);

/* Appends a line for each family of the calls between two times, duration ns apart. */
void status_line_append_calls(struct text *text, const struct call_families *before, const struct call_families *now,
			      uint64_t duration);
