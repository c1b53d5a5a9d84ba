/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The use of the NPU in a trace: its jobs, as events (vpu:job, drm_sched) or functions indicate them, and the phases,
 * among which the elapsed time is divided without overlap. Bounded; one thread.
 */
#pragma once

#include "line.h"
#include "npu/statistics.h"
#include "npu/use.h"
#include "place.h"
#include "records/record_batch.h"

/* Jobs in flight beyond these are dropped, and counted. */
#define TRACE_JOBS_MAX 1024u
/* Jobs in flight whose owners are known, where functions indicate them. */
#define TRACE_CALL_JOBS_MAX 256u

/* Initialise with {0}. */
struct trace_use {
	struct npu_use use;
	bool has_job_events; /* which have the times and owners of jobs, so that functions do not add them */
	struct trace_job {
		uint64_t job, created, queued; /* times: 0 if unknown */
		uint32_t context, engine, pid;
		bool is_submitted;
	} jobs[TRACE_JOBS_MAX]; /* of events, oldest first */
	uint32_t count;
	uint64_t jobs_dropped;
	struct busy_times engines[BUSY_ENGINES];
	struct command_queues queues;
	struct {
		uint64_t in_flight, ended;
		struct {
			uint64_t submitted, queued; /* the submission's first and last call */
			uint32_t pid;
		} jobs[TRACE_CALL_JOBS_MAX]; /* a ring: the oldest ends first */
		struct busy_times engine;
	} calls; /* jobs that functions indicate */
	enum ivpu_phase last;
	uint32_t last_pid;
	uint64_t last_time;
	bool has_time, was_boot;
};

/*
 * Adds a line of kind JOB, and emits the job if it has ended. A job has no number when it is created: it is the oldest
 * one of its context that was not submitted yet. running may be NULL. time is on the machine's clock; 0: unknown.
 * Returns 0 or a negative errno.
 */
int trace_use_add_event(struct trace_use *use, struct record_batch *batch, struct ivpu_running *running,
			const struct trace_line *line, uint64_t time);
/*
 * Adds a call that was placed, at a time (0: unknown). comm may be empty. Adds the time of boots to running, too.
 */
void trace_use_add_call(struct trace_use *use, struct ivpu_running *running, const struct trace_frame *frame,
			const char *comm, uint64_t time);
/* Adds counts without order, whose callers are not known. */
void trace_use_add_count(struct trace_use *use, const struct trace_function *function, uint64_t count);
/* Appends the jobs of events that have not ended. Returns 0 or a negative errno. */
int trace_use_finish(struct trace_use *use, struct record_batch *batch, uint64_t time);
