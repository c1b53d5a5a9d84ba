/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the job events of a trace (vpu:job, drm_sched) into JOB records and statistics. A job has no number when it is
 * created: it is the oldest one of its context that was not submitted yet. Bounded; one thread.
 */
#pragma once

#include "busy_times.h"
#include "npu_use.h"
#include "records/record_batch.h"
#include "statistics.h"
#include "trace_text.h"

#define TRACE_JOBS_MAX 1024u

/* Initialise with {0} and use. */
struct trace_jobs {
	struct npu_use *use; /* borrowed */
	struct trace_job {
		uint64_t job, created, queued; /* times: 0 if unknown */
		uint32_t context, engine, pid;
		bool is_submitted;
	} jobs[TRACE_JOBS_MAX]; /* oldest first */
	uint32_t count;
	struct busy_times engines[BUSY_ENGINES];
	uint64_t dropped; /* more jobs at once */
	uint64_t ends;    /* of jobs that began before the trace */
	bool is_known;    /* the trace has such events */
};

/*
 * running may be NULL. Adds a line of kind JOB. time is on the machine's clock; 0: unknown. Returns 0 or a negative
 * errno.
 */
int trace_jobs_add(struct trace_jobs *jobs, struct record_batch *batch, struct ivpu_running *running,
		   const struct trace_line *line, uint64_t time);
/* Appends the jobs that have not ended. Returns 0 or a negative errno. */
int trace_jobs_finish(struct trace_jobs *jobs, struct record_batch *batch, uint64_t time);
