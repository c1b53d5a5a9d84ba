/* SPDX-License-Identifier: Apache-2.0 */
/* What a run is made of, for the files of this folder among which its life is divided. */
#ifndef IAPROF_CORE_RUN_RUN_STATE_H
#define IAPROF_CORE_RUN_RUN_STATE_H

#include <stdatomic.h>

#include "base/clock.h"
#include "process/mapped_files.h"
#include "process/sideband.h"
#include "run/collecting.h"
#include "run/command.h"
#include "run/report.h"
#include "run/setup.h"

struct run {
	const struct configuration *configuration;
	struct instance_services services;
	struct setup setup;
	struct command command;
	struct sideband *sideband;
	struct mapped_files mapped_files;
	struct loop_watch *sideband_watch, *command_watch, *tick, *drain_tick;
	struct collecting *collecting;
	struct collecting_result result;
	const struct run *before; /* the earlier run of a difference, which outlives this one; NULL none */
	uint32_t requests;        /* enum iaprof_request: of that one, what the later one's sinks ask for */
	struct own_cost begin, end;
	struct status status;
	uint64_t deadline; /* CLOCK_MONOTONIC, UINT64_MAX none */
	uint64_t interval; /* ns, 0 none */
	atomic_bool ended; /* a sink asked for it */
	/* CLOCK_MONOTONIC, when the run was over or was asked to end; 0 not yet, or a replay, which may take its time.
	 */
	atomic_uint_least64_t end_time;
	bool failed; /* something did; it has been shown */
	bool status_line;
};

/* process_feed.c: follows the processes of the target. 0, or a negative errno with one line. */
int process_feed_open(struct run *run, struct error *error);
/* Has the event loop read what there is to tell of them. 0 or a negative errno. */
int process_feed_watch(struct run *run);
/* Tells the collector that it knows all processes up to now. */
void process_feed_synchronize(struct run *run);
/* Puts one of the core's own records on the bus, of now. */
void run_send(struct run *run, struct iaprof_record *record, uint16_t type, size_t size);

/* Whether a signal or a sink asked the run to end. Any thread. */
bool run_is_ending(struct run *run);

/* ending.c: everything after the last record: profile, sinks, summary. */
void run_finish(struct run *run);
/* Ends the process when a sink is stuck. */
_Noreturn void run_leave(struct run *run);
/* From here on outputs wait for their readers for finish_within of the configuration only. Any thread; again does
 * nothing. */
void run_note_end(struct run *run);
/* As write_by() of struct output_target. context is the run. */
uint64_t run_write_by(void *context, uint64_t since);
/* Shows why something failed: the run has, then. */
void run_show(struct run *run, const struct error *error);

#endif
