/* SPDX-License-Identifier: Apache-2.0 */
/* The state of an engine, shared by the files of this folder, which implement the functions of bus/engine.h. */
#pragma once

#include <pthread.h>

#include "broker/broker.h"
#include "bus/engine.h"
#include "process/mapped_files.h"
#include "process/sideband.h"
#include "profile/collector.h"
#include "symbolizer/unwind/unwind_feed.h"

struct unwind_watcher {
	unwind_feed_callback *callback;
	void *context;
};

struct engine {
	struct engine_services services;
	struct engine_options options;

	/* Loop thread. */
	struct broker *broker;     /* opens and reads what sideband and mapped_files refer to */
	uint64_t broker_cost;      /* its CPU time that is part of the progress, ns */
	struct sideband *sideband; /* NULL: processes are not followed */
	struct loop_watch *events_watch, *drain_watch;
	uint64_t drain_begin;  /* time since when process events wait to be read together */
	uint64_t period_begin; /* of a continuous run: when sideband_begin_period() was last called */
	struct engine_saving saving;
	struct mapped_files mapped_files;
	struct kept_files kept_files;
	struct unwind_feed *unwind_feed; /* NULL: no source requests tables */
	bool unwind_changes;             /* it received records since it was last woken */
	ARRAY(struct unwind_watcher) unwind_watchers;

	struct collector *collector; /* NULL: not configured */

	/* The thread of read(), which only needs the lock to write progress. */
	pthread_mutex_t progress_lock;
	struct engine_progress progress;
	uint64_t interval_cost; /* CPU time of all profiles of intervals, ns */
	uint64_t begin;         /* time of the first SYNC, 0 not yet */
	uint64_t interval_begin;
	uint64_t last_sync;
	struct snapshot *profile;
	struct difference *difference; /* NULL: there is no earlier run */
	struct snapshot compared;      /* of difference, whose memory it refers to */
	bool profile_missing;          /* a profile of the run or of an interval could not be created */
};

/* process_feed.c: follows the processes of the target. */
int process_feed_open(struct engine *engine, struct error *error);
/* Starts process events and adds them to the loop. */
int process_feed_start(struct engine *engine, struct error *error);
int process_feed_scan(struct engine *engine, struct error *error);
void process_feed_drain(struct engine *engine);
void process_feed_close(struct engine *engine);
size_t process_feed_running(const struct engine *engine);
bool process_feed_is_needed(const struct engine *engine);
/* Stops events, if nothing needs them, or has them follow processes again. */
void process_feed_save(struct engine *engine, bool saves);
/* Reads a process from /proc if events are stopped. */
void process_feed_rescan_process(struct engine *engine, uint32_t pid, uint64_t execution);

/* unwind_tables.c: unwind tables for the sources that ask for them. */
int unwind_tables_watch(struct engine *engine, unwind_feed_callback *callback, void *context);
void unwind_tables_request(struct engine *engine, uint32_t pid, uint64_t execution);
/* Processes a record of the process events. */
void unwind_tables_take(struct engine *engine, const struct iaprof_record *record);
/* Reads the files of the target's processes, for a limited time. */
void unwind_tables_prepare(struct engine *engine);
/* Delivers the tables that sources wait for, for at most limit ns, and ends the feed. */
void unwind_tables_finish(struct engine *engine, uint64_t limit);
/* Reports the refused processes and tables. */
void unwind_tables_report(const struct engine *engine);
void unwind_tables_free(struct engine *engine);

/* profiles.c: what happens on the thread of read(), and its result. */
int profiles_configure(struct engine *engine, const struct engine_options *options, struct error *error);
struct block *profiles_read(struct engine *engine, const struct block *block);
struct block *profiles_finish(struct engine *engine);
void profiles_conclude(struct engine *engine);
struct engine_progress profiles_progress(struct engine *engine);
struct engine_result profiles_result(const struct engine *engine);
void profiles_free(struct engine *engine);

/* report.c */
void engine_report(const struct engine *engine);
