/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends a range of a ring as one run: the segments of the range one after another, with their ids replaced by those of
 * the run, and their times by those of the first segment's clock. A damaged segment is reported and skipped.
 */
#ifndef IAPROF_PLUGINS_REPLAY_RING_REPLAY_H
#define IAPROF_PLUGINS_REPLAY_RING_REPLAY_H

#include <stdbool.h>
#include <iaprof/host.h>

#include "base/keyed_array.h"
#include "base/string_table.h"
#include "records/record_batch.h"
#include "replay_budget.h"
#include "ring/ring_folder.h"
#include "ring/ring_range.h"

struct ring_stack {
	uint64_t key[2]; /* fingerprint of its record */
	uint32_t id;
};

/* Initialise with {0}. */
struct ring_replay {
	const char *path; /* as the user wrote it; borrowed */
	struct ring_range range;
	int folder; /* descriptor, valid if is_open */
	bool is_open;
	struct ring_segments segments; /* those of the range */
	struct replay_budget *budget;  /* borrowed */
	struct record_batch batch;

	/* Of the run: */
	struct string_table sources, devices; /* ids are their numbers */
	struct string_table value_types;
	KEYED_ARRAY(struct ring_stack) stacks;
	uint64_t offset; /* CLOCK_REALTIME minus CLOCK_MONOTONIC of the first segment; 0: not known */
	bool has_metadata;
	uint64_t size, records, blocks; /* read so far */
	size_t skipped;                 /* segments that were damaged */

	/* Of the segment: ids of the run by those of the segment. */
	ARRAY(uint32_t) strings;
	ARRAY(uint32_t) stack_ids;
	ARRAY(uint32_t) device_ids;
	ARRAY(uint16_t) source_numbers;
	int64_t shift; /* added to its times */
};

/* Finds the segments. Returns 0, or a negative errno after host->fail(). */
int ring_replay_open(struct ring_replay *ring, const struct iaprof_host *host, const char *path,
		     struct replay_budget *budget);
/* Sends them. Returns 0 even if the run ends early. */
int ring_replay_run(struct ring_replay *ring, const struct iaprof_host *host, const volatile int *stopping);
void ring_replay_close(struct ring_replay *ring);

#endif
