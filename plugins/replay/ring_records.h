/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of a ring's segments, as records of one run: ids of strings, stacks, devices and sources are replaced by
 * those of the run, and times by those of the clock of the first segment. The records are untrusted.
 */
#pragma once

#include <stdbool.h>
#include <iaprof/host.h>

#include "base/keyed_array.h"
#include "base/string_table.h"
#include "records/record_batch.h"

struct ring_stack {
	uint64_t key[2]; /* fingerprint of its record */
	uint32_t id;
};

/* Initialise with {0} and record_batch_init(). */
struct ring_records {
	struct record_batch batch;

	/* Of the run: */
	struct string_table sources, devices; /* ids are their numbers */
	struct string_table value_types;
	KEYED_ARRAY(struct ring_stack) stacks;
	uint64_t offset; /* CLOCK_REALTIME minus CLOCK_MONOTONIC of the first segment; 0: not known */
	bool has_metadata;

	/* Of the segment: its strings, and ids of the run by those of the segment. */
	struct string_table texts;
	ARRAY(uint32_t) strings;
	ARRAY(uint32_t) stack_ids;
	ARRAY(uint32_t) device_ids;
	ARRAY(uint16_t) source_numbers;
	uint64_t shift; /* added to its times, modulo 2^64 */
};

/*
 * Appends what becomes of a record to the batch. Returns 0; -EBADMSG or -EINVAL: it is not a record of a ring; -ENOMEM;
 * or the result of host->emit().
 */
int ring_records_take(struct ring_records *ring, const struct iaprof_host *host, const struct iaprof_record *record);
/* Forgets the ids of a segment. */
void ring_records_end_segment(struct ring_records *ring);
void ring_records_free(struct ring_records *ring);
