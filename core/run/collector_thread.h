/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector thread takes blocks from the bus, has the engine read them, and passes blocks, the records that the
 * engine derives, and profiles to the sinks' queues. Without an engine, sinks receive the blocks only.
 */
#pragma once

#include "bus/engine.h"
#include "run/sink_queue.h"

struct collector_thread;

struct collector_thread_options {
	struct bus *bus;
	const struct engine_functions *functions;
	struct engine *engine;        /* outlives the thread; NULL: none */
	struct engine_options wanted; /* without records and profile, which the thread sets */
	struct instance *const *sinks;
	size_t sink_count;
	bool interval_for_all;  /* for all sinks that support intervals; otherwise for those that requested one */
	uint64_t finish_within; /* ns: longest time without progress of a sink at the end; 0: no limit */
	bool holds_sinks;       /* they are called only after collector_thread_release_sinks() */
	bool lossless;          /* wait for slow sinks, so that they receive everything */
};

/* Starts the collector thread and the sinks' threads. Returns NULL on failure. */
struct collector_thread *collector_thread_start(const struct collector_thread_options *options, struct error *error);

/* For options->holds_sinks: the sinks were started, and receive what was kept for them so far. */
void collector_thread_release_sinks(struct collector_thread *thread);

/* Results of a run. */
struct collector_thread_result {
	struct engine_result engine; /* {0} if the run could not start, or without one */
	bool profile_missing;        /* a sink did not get a profile of the run or of an interval */
	bool sink_failed;            /* the instances' errors contain the reason */
	bool sink_stuck;             /* its thread may still use all objects of the run */
};

/* Ends the threads after the last record was put on the bus; the sinks process pending data and finish. */
void collector_thread_finish(struct collector_thread *thread, struct collector_thread_result *result);
/* Called instead of collector_thread_finish() for a run that could not start: the sinks write nothing. */
void collector_thread_abandon(struct collector_thread *thread);
void collector_thread_free(struct collector_thread *thread);
