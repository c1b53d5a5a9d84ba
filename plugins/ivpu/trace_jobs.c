/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_jobs.h. */
#include <string.h>
#include <iaprof/record.h>
#include "trace_jobs.h"

static void job_remove(struct trace_jobs *jobs, uint32_t position)
{
	jobs->count--;
	memmove(&jobs->jobs[position], &jobs->jobs[position + 1], (jobs->count - position) * sizeof *jobs->jobs);
}

/* Returns the position of the oldest job for which all of it agrees, or jobs->count. */
static uint32_t job_find(const struct trace_jobs *jobs, const struct trace_line *line, bool is_submitted)
{
	for (uint32_t i = 0; i < jobs->count; i++) {
		const struct trace_job *job = &jobs->jobs[i];
		if (job->context == line->context && job->is_submitted == is_submitted &&
		    (job->job == line->job || (!is_submitted && !job->job)))
			return i;
	}
	return jobs->count;
}

static struct trace_job *job_new(struct trace_jobs *jobs, const struct trace_line *line)
{
	if (jobs->count == TRACE_JOBS_MAX) {
		jobs->dropped++;
		return NULL;
	}
	struct trace_job *job = &jobs->jobs[jobs->count++];
	*job = (struct trace_job){
		.job = line->job, .context = line->context, .engine = line->engine, .pid = line->pid
	};
	return job;
}

static int job_emit(struct trace_jobs *jobs, struct record_batch *batch, const struct trace_job *job, uint32_t state,
		    uint64_t time)
{
	bool is_over = state != IAPROF_JOB_IN_FLIGHT, is_engine_known = job->engine < BUSY_ENGINES;
	/* As in jobs.c: a job has the engine while no job before it has. */
	uint64_t started = is_over && is_engine_known && job->queued
				   ? time - busy_times_add(&jobs->engines[job->engine], job->queued, time)
				   : 0;
	const struct iaprof_record_job record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_JOB, .time = time },
		.submitted = job->created ? job->created : job->queued,
		.queued = job->queued,
		.started = started,
		.id = (uint32_t)job->job,
		.pid = job->pid,
		.context = job->context,
		.engine = record_batch_text(batch, job->engine ? "copy" : "compute"),
		.state = state,
	};
	npu_use_add_job(jobs->use, &record);
	/* Without times, a job has no latency. */
	return record.submitted ? record_batch_append(batch, &record.header) : 0;
}

static void job_submit(struct trace_jobs *jobs, struct ivpu_running *running, const struct trace_line *line,
		       uint64_t time)
{
	uint32_t position = job_find(jobs, line, false);
	struct trace_job *job = position < jobs->count ? &jobs->jobs[position] : job_new(jobs, line);
	if (running)
		ivpu_running_submit(running, line->context, time);
	if (!job)
		return;
	job->job = line->job;
	job->queued = time;
	job->is_submitted = true;
}

/* The driver numbers a job between its creation and its submission. */
static enum trace_job_event event_of(const struct trace_jobs *jobs, const struct trace_line *line)
{
	if (line->event != TRACE_JOB_UNNAMED)
		return line->event;
	if (!line->job)
		return TRACE_JOB_CREATE;
	return job_find(jobs, line, true) < jobs->count ? TRACE_JOB_DONE : TRACE_JOB_SUBMIT;
}

int trace_jobs_add(struct trace_jobs *jobs, struct record_batch *batch, struct ivpu_running *running,
		   const struct trace_line *line, uint64_t time)
{
	struct trace_job *job;
	uint32_t position;
	int result = 0;
	jobs->is_known = true;
	switch (event_of(jobs, line)) {
	case TRACE_JOB_CREATE:
		job = job_new(jobs, line);
		if (job)
			job->created = time;
		return 0;
	case TRACE_JOB_SUBMIT:
		job_submit(jobs, running, line, time);
		return 0;
	default:
		position = job_find(jobs, line, true);
		if (position == jobs->count) {
			jobs->ends++;
			return 0;
		}
		if (running)
			ivpu_running_add(running, IVPU_EVENT_DONE, 1, time);
		result = job_emit(jobs, batch, &jobs->jobs[position],
				  line->event == TRACE_JOB_ABORT ? IAPROF_JOB_ABORTED : IAPROF_JOB_DONE, time);
		job_remove(jobs, position);
		return result;
	}
}

int trace_jobs_finish(struct trace_jobs *jobs, struct record_batch *batch, uint64_t time)
{
	int result = 0;
	for (uint32_t i = 0; i < jobs->count && !result; i++)
		if (jobs->jobs[i].is_submitted)
			result = job_emit(jobs, batch, &jobs->jobs[i], IAPROF_JOB_IN_FLIGHT, time);
	jobs->count = 0;
	return result;
}
