/* SPDX-License-Identifier: Apache-2.0 */
/* Collects records and passes them to host->emit() in batches. */
#pragma once

#include <stdint.h>
#include <iaprof/host.h>

struct record_batch {
	const struct iaprof_host *host;
	unsigned char *records;
	uint64_t size;
	uint32_t count;
};

/* Returns 0, or a negative errno after host->fail(). */
int record_batch_init(struct record_batch *batch, const struct iaprof_host *host);
void record_batch_free(struct record_batch *batch);

/* These functions return 0 or a negative errno. A full queue is not an error: the core has counted the loss. */
int record_batch_append(struct record_batch *batch, const struct iaprof_record *record);
int record_batch_flush(struct record_batch *batch);

/* Returns the id of a text; 0 for NULL. */
uint32_t record_batch_text(const struct record_batch *batch, const char *text);

struct record_counter {
	uint32_t id;
	const char *name, *unit;
	uint32_t kind;   /* enum iaprof_counter_kind; 0: cumulative */
	uint32_t device; /* 0: none */
	uint32_t role;   /* enum iaprof_counter_role */
};
/* These append the definition of a counter, and its value at a given time. */
int record_batch_declare_counter(struct record_batch *batch, const struct record_counter *counter, uint64_t time);
int record_batch_set_counter(struct record_batch *batch, uint32_t id, double value, uint64_t time);
/* The same of a table of counters, with a flush. */
int record_batch_declare_counters(struct record_batch *batch, const struct record_counter *counters, size_t count,
				  uint64_t time);
int record_batch_set_counters(struct record_batch *batch, const struct record_counter *counters, const uint64_t *values,
			      size_t count, uint64_t time);

struct record_finding {
	uint32_t severity; /* enum iaprof_finding_severity */
	const char *name, *text;
	double value, threshold;
	uint32_t pid; /* 0: none */
};
int record_batch_add_finding(struct record_batch *batch, const struct record_finding *finding, uint64_t time);

/* At most 64 buckets. */
struct record_histogram {
	const char *name, *unit;
	uint64_t begin;        /* of the time in which it was collected */
	uint64_t sum, maximum; /* of the values */
	const uint64_t *buckets;
	uint32_t bucket_count;
};
/* Appends a histogram, unless it is empty. */
int record_batch_add_histogram(struct record_batch *batch, const struct record_histogram *histogram, uint64_t time);
