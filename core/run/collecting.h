/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's thread: takes blocks off the bus, keeps the profile, hands blocks and profiles to the sinks' queues,
 * and at the end the profile of the run.
 */
#ifndef IAPROF_CORE_RUN_COLLECTING_H
#define IAPROF_CORE_RUN_COLLECTING_H

#include <stdatomic.h>

#include "profile/call_families.h"
#include "profile/collector.h"
#include "run/sink_queue.h"

struct collecting;

struct collecting_options {
	struct bus *bus;
	struct intern *intern;
	struct instance *const *sinks;
	size_t sink_count;
	struct decoders *decoders; /* outlive the thread, which alone uses them */
	uint64_t interval;         /* ns, 0 none */
	uint64_t time_resolution;  /* as in struct collector_options */
	bool interval_for_all;     /* of sinks that can have profiles of intervals; else for those that asked for one */
	uint64_t hold;             /* ns: samples of devices wait for their code; 0: CORRELATOR_HOLD */
	uint64_t finish_within;    /* ns: longest time that a sink may stand still at the end; 0: any */
	bool replays;
	bool lossless;     /* sinks may take their time, and get everything */
	uint32_t requests; /* enum iaprof_request: of sinks that are not among these */
	/* The earlier run's profile: sinks get the difference, and no records. Outlives this; NULL none. */
	const struct iaprof_profile *before;
	uint32_t normalization; /* enum iaprof_normalization, of before */
};

/* Starts the thread and the sinks' own. NULL after a failure. */
struct collecting *collecting_start(const struct collecting_options *options, struct error *error);

/* Files are read no longer than until this time (CLOCK_MONOTONIC ns). Any thread. */
void collecting_end_by(struct collecting *collecting, uint64_t end);

/* ns of CPU time that helper processes used while records flowed. Any thread. */
uint64_t collecting_helper_cost(const struct collecting *collecting);

/* What is known so far; any thread. */
struct collecting_progress {
	uint64_t samples, lost;
	struct call_families calls;
};
struct collecting_progress collecting_progress(struct collecting *collecting);

/* What a run came to. */
struct collecting_result {
	struct collector_statistics statistics;
	const struct sampled_device *devices; /* what became of their samples; until collecting_free() */
	size_t device_count;
	const struct histograms *histograms;  /* as calls */
	const struct findings *findings;      /* as calls */
	const struct call_tree *calls;        /* until collecting_free(); NULL when the run could not start */
	const struct iaprof_profile *profile; /* of the whole run, until collecting_free(); NULL when out of memory */
	const struct iaprof_profile *difference; /* from the earlier run to this one, as profile; NULL none */
	bool profile_missing;                    /* the run's or an interval's, or the difference */
	bool sink_failed;                        /* why is in the instances' errors */
	bool sink_stuck;                         /* its thread may still use all that the run has */
};

/* After the last record was put on the bus: ends the threads; the sinks take what waits and finish. */
void collecting_finish(struct collecting *collecting, struct collecting_result *result);
/* Instead of collecting_finish(), for a run that could not start: the sinks write nothing. */
void collecting_abandon(struct collecting *collecting);
void collecting_free(struct collecting *collecting);

#endif
