/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Supplies sources with the mappings of processes and the unwind tables of their files. A thread with its own broker
 * and worker opens and reads the files, so that neither sampling nor the collector waits for them. Call all functions
 * on the loop thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include <iaprof/unwind.h>

#include "process/user_accounts.h"
#include "symbolizer/budget.h"

struct unwind_feed;

/* Returns NULL, with errno set, on failure. */
struct unwind_feed *unwind_feed_new(void);
/* Ends its thread without waiting for files that are being read. */
void unwind_feed_end(struct unwind_feed *feed);
/* Accepts NULL. */
void unwind_feed_free(struct unwind_feed *feed);

/* Returns a descriptor that is readable when there is something to deliver. */
int unwind_feed_descriptor(const struct unwind_feed *feed);

/* Returns whether there was no request for this execution of the process within the last 10 ms. */
bool unwind_feed_is_new(struct unwind_feed *feed, uint32_t pid, uint64_t execution);
/* Requests the mappings of a process, and the tables of their files. Call it if unwind_feed_is_new(). */
void unwind_feed_request(struct unwind_feed *feed, uint32_t pid, uint64_t execution);
/* Makes no new tables from now on, or makes them again: code of other files is unwound by frame pointers. */
void unwind_feed_save(struct unwind_feed *feed, bool saves);
/* Reads the files of a process in advance of a request. */
void unwind_feed_prepare(struct unwind_feed *feed, uint32_t pid);
/*
 * Processes a PROCESS or MAPPING record. text: that of its string id, valid for the run. It waits for
 * unwind_feed_wake(), a request, or some more records, because waking the thread costs more than the record.
 */
void unwind_feed_take(struct unwind_feed *feed, const struct iaprof_record *record, const char *text);
/* Has the thread process what it has not yet. */
void unwind_feed_wake(struct unwind_feed *feed);

/* As iaprof_on_unwind, without the host and its instance. */
typedef void unwind_feed_callback(void *context, const struct iaprof_unwind_table *table,
				  const struct iaprof_unwind_process *process);
/* Delivers everything new since the last call: each table before the processes that refer to it. */
void unwind_feed_deliver(struct unwind_feed *feed, unwind_feed_callback *callback, void *context);
/*
 * Waits until all requests are served, or until end (CLOCK_MONOTONIC), and delivers meanwhile. Returns whether they
 * are.
 */
bool unwind_feed_wait(struct unwind_feed *feed, uint64_t end, unwind_feed_callback *callback, void *context);

/* Returns the CPU time of its helper processes, ns. Accepts NULL. */
uint64_t unwind_feed_cost(const struct unwind_feed *feed);
/* Returns the CPU time of its thread, which follows processes, in ns. */
uint64_t unwind_feed_thread_cost(const struct unwind_feed *feed);

/* Numbers for the summary of the run. Pointers are valid until unwind_feed_free(). */
struct unwind_feed_summary {
	const struct refusal *refusals;
	size_t refusal_count;
	uint64_t refused_more;             /* further files, not in refusals */
	const struct user_accounts *users; /* refused: processes without room, or whose user has used up its time */
	uint64_t truncated;                /* processes with more than mappings_max mappings */
	uint32_t mappings_max;
	uint64_t dropped; /* requests and records */
	uint64_t files, tables, rows;
	uint64_t cached;  /* files whose table was in the cache */
	uint64_t skipped; /* functions whose rules could not be read */
};
/* Call after unwind_feed_end(). */
struct unwind_feed_summary unwind_feed_summarize(const struct unwind_feed *feed);
