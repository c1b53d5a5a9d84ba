/* SPDX-License-Identifier: Apache-2.0 */
/* Divides the elapsed time of a text trace among the phases, without overlap, and sums its calls. One thread. */
#pragma once

#include "busy_times.h"
#include "npu_use.h"
#include "statistics.h"
#include "trace_place.h"

/* Jobs in flight whose owners are known. */
#define TRACE_PHASES_JOBS 256u

/* Initialise with {0}. */
struct trace_phases {
	struct npu_use use;
	uint64_t jobs_in_flight;
	struct {
		uint64_t submitted, queued; /* the submission's first and last call */
		uint32_t pid;
	} jobs[TRACE_PHASES_JOBS]; /* a ring: the oldest ends first */
	uint64_t jobs_ended;
	bool has_job_events; /* which have the times and owners of jobs */
	struct busy_times engine;
	enum ivpu_phase last;
	uint32_t last_pid;
	uint64_t last_time;
	bool has_time, was_boot;
};

/*
 * Adds a call that was placed, at a time (0: unknown). comm may be empty. Adds the time of boots to running, too.
 */
void trace_phases_add(struct trace_phases *phases, struct ivpu_running *running, const struct trace_frame *frame,
		      const char *comm, uint64_t time);
/* Adds counts without order, whose callers are not known. */
void trace_phases_count(struct trace_phases *phases, const struct trace_function *function, uint64_t count);
