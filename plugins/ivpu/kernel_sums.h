/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of the BPF programs other than calls by path: counts of entries, latency histograms, sizes of buffers. Owned by
 * one thread.
 */
#pragma once

#include "base/keyed_array.h"
#include "call_drain.h"
#include "npu/use.h"
#include "records/record_batch.h"

struct entry_count {
	uint64_t key;   /* IVPU_ENTRY_KEY */
	uint64_t count; /* emitted so far */
};

/*
 * Counts of calls by process and function, with mode=entries: without times, results and nesting, at the lowest
 * overhead. Initialise with {0} and the first members.
 */
struct entry_counts {
	struct call_drain *drain; /* for its records and callback */
	KEYED_ARRAY(struct entry_count) sent;
	uint64_t *values; /* of each CPU */
	uint64_t last_time;
};

void entry_counts_free(struct entry_counts *counts);
/* Emits the calls since the last time. Returns 0 or a negative errno after host->fail(). */
int entry_counts_turn(struct entry_counts *counts);

/*
 * Appends the latency histograms of driver functions of the whole run, from begin to time. Called once, after the
 * programs are detached. Returns 0 or a negative errno after host->fail().
 */
int latency_send(const struct probes *probes, struct record_batch *batch, uint64_t begin, uint64_t time);

/* Returns the time of the longest firmware boot (ns), with the resume that it is part of; 0: none. */
uint64_t latency_longest_boot(const struct probes *probes);

/* Adds the sizes of buffers that programs allocated to their users and contexts. */
void buffer_sizes_read(const struct probes *probes, struct npu_use *use);
