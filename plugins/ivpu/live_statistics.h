/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of a live run, added in turns. Jobs are known one by one; other events of a turn are sums, which are
 * spread evenly between their first and last times, or over the jobs in that time. Owned by one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"
#include "npu/statistics.h"

/* A job that was submitted or has ended. */
struct live_job {
	uint64_t time;
	uint32_t owner; /* a context or process */
	bool has_ended;
};

/* Jobs of a turn beyond these are not added individually. */
#define LIVE_JOBS_MAX 65536u

/* Initialise with {0}; set knows_jobs if live_statistics_add_job() is called. */
struct live_statistics {
	bool knows_jobs; /* jobs are added individually, and calls that indicate them are not */
	struct ivpu_running running;
	struct ivpu_overview overview;
	struct {
		uint64_t count, first_time, last_time;
	} turn[IVPU_EVENT_COUNT];    /* events of the current turn */
	ARRAY(struct live_job) jobs; /* of the current turn */
	uint64_t turn_jobs;          /* jobs submitted in it */
	uint64_t window_begin, window_messages, window_jobs;
};

void live_statistics_free(struct live_statistics *statistics);

/* Adds calls of a function. in_boot: made while the driver polls for the firmware's boot message. */
void live_statistics_add(struct live_statistics *statistics, const struct ivpu_function *function, uint64_t count,
			 uint64_t first_time, uint64_t last_time, bool in_boot);
/* Adds calls of a function to the overview alone. */
void live_statistics_add_other(struct live_statistics *statistics, const struct ivpu_function *function,
			       uint64_t count);
/* Adds the submission or the end of a job. */
void live_statistics_add_job(struct live_statistics *statistics, const struct live_job *job);
/* Starts the first turn. */
void live_statistics_begin(struct live_statistics *statistics, uint64_t time);
/* Ends a turn: all events up to a time have been added. */
void live_statistics_end_turn(struct live_statistics *statistics, uint64_t time);
/* Returns the statistics at the end of a turn. */
struct ivpu_statistics live_statistics_result(const struct live_statistics *statistics);
