/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends a range of a ring as one run: the segments of the range one after another, with their ids replaced by those of
 * the run, and their times by those of the first segment's clock. A damaged segment is reported and skipped.
 */
#pragma once

#include <stdbool.h>
#include <iaprof/host.h>

#include "replay_budget.h"
#include "ring/ring_folder.h"
#include "ring/ring_range.h"
#include "ring_records.h"

/* Initialise with {0}. */
struct ring_replay {
	const char *path; /* as the user wrote it; borrowed */
	struct ring_range range;
	int folder; /* descriptor, valid if is_open */
	bool is_open;
	struct ring_segments segments; /* those of the range */
	struct replay_budget *budget;  /* borrowed */
	struct ring_records run;
	uint64_t size, records, blocks; /* read so far */
	size_t skipped;                 /* segments that were damaged */
};

/* Finds the segments. Returns 0, or a negative errno after host->fail(). */
int ring_replay_open(struct ring_replay *ring, const struct iaprof_host *host, const char *path,
		     struct replay_budget *budget);
/* Sends them. Returns 0 even if the run ends early. */
int ring_replay_run(struct ring_replay *ring, const struct iaprof_host *host, const volatile int *stopping);
void ring_replay_close(struct ring_replay *ring);
