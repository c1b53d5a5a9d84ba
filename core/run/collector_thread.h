/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector thread takes blocks from the bus, maintains the profile, and passes blocks and profiles to the sinks'
 * queues, including the profile of the whole run at the end.
 */
#pragma once

#include <stdatomic.h>

#include "profile/collector.h"
#include "run/sink_queue.h"

struct collector_thread;

struct collector_thread_options {
	struct bus *bus;
	struct intern *intern;
	struct instance *const *sinks;
	size_t sink_count;
	struct decoder_finder *decoders; /* must outlive the thread; used by no other thread */
	uint64_t interval;               /* ns, 0 if none */
	uint64_t time_resolution;        /* as in struct collector_options */
	bool interval_for_all;   /* for all sinks that support intervals; otherwise for those that requested one */
	bool continuous;         /* as in struct collector_options: there is no profile of the whole run */
	uint64_t hold;           /* ns: longest wait of device samples for their code; 0: CORRELATOR_HOLD */
	uint64_t finish_within;  /* ns: longest time without progress of a sink at the end; 0: no limit */
	const char *debuginfod;  /* URL of a server for debug files, NULL: none */
	struct kept_files *kept; /* as in struct symbolizer_options */
	bool holds_sinks;        /* they are called only after collector_thread_release_sinks() */
	bool replays;
	bool lossless;     /* wait for slow sinks, so that they receive everything */
	uint32_t requests; /* enum iaprof_request */
	/* Profile of the earlier run: sinks receive the difference and no records. Must outlive this; NULL if none. */
	const struct iaprof_profile *before;
	uint32_t normalization; /* enum iaprof_normalization, of before */
};

/* Starts the collector thread and the sinks' threads. Returns NULL on failure. */
struct collector_thread *collector_thread_start(const struct collector_thread_options *options, struct error *error);

/* For options->holds_sinks: the sinks were started, and receive what was kept for them so far. */
void collector_thread_release_sinks(struct collector_thread *thread);

/* Sets the time after which no files are read (CLOCK_MONOTONIC ns). Any thread. */
void collector_thread_end_by(struct collector_thread *thread, uint64_t end);

/* Returns the CPU time in ns that helper processes used during collection. Any thread. */
uint64_t collector_thread_helper_cost(const struct collector_thread *thread);

/* Progress so far; any thread. */
struct collector_thread_progress {
	uint64_t samples, lost;
	uint32_t intervals; /* that have ended */
	struct call_families calls;
};
struct collector_thread_progress collector_thread_progress(struct collector_thread *thread);

/* Results of a run. */
struct collector_thread_result {
	struct collector_statistics statistics;
	const struct collector *collector; /* until collector_thread_free(); NULL if the run could not start */
	/* Whole run, or without its values if it was continuous; until collector_thread_free(). NULL: out of memory. */
	const struct iaprof_profile *profile;
	const struct iaprof_profile *difference; /* from the earlier run to this one, as profile; NULL if none */
	bool continuous;
	bool profile_missing; /* a profile of the run, an interval or the difference failed, or a sink did not get it */
	bool sink_failed;     /* the instances' errors contain the reason */
	bool sink_stuck;      /* its thread may still use all objects of the run */
};

/* Ends the threads after the last record was put on the bus; the sinks process pending data and finish. */
void collector_thread_finish(struct collector_thread *thread, struct collector_thread_result *result);
/* Called instead of collector_thread_finish() for a run that could not start: the sinks write nothing. */
void collector_thread_abandon(struct collector_thread *thread);
void collector_thread_free(struct collector_thread *thread);
