/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of calls by process and function, with mode=entries: without times, results and nesting, at the lowest
 * overhead. Owned by one thread.
 */
#pragma once

#include "base/keyed_array.h"
#include "call_drain.h"

struct entry_count {
	uint64_t key;   /* IVPU_ENTRY_KEY */
	uint64_t count; /* emitted so far */
};

/* Initialise with {0} and the first members. */
struct entry_counts {
	struct call_drain *drain; /* for its records and callback */
	KEYED_ARRAY(struct entry_count) sent;
	uint64_t *values; /* of each CPU */
	uint64_t last_time;
};

void entry_counts_free(struct entry_counts *counts);
/* Emits the calls since the last time. Returns 0 or a negative errno after host->fail(). */
int entry_counts_turn(struct entry_counts *counts);
