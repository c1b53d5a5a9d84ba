/* SPDX-License-Identifier: Apache-2.0 */
/* See use.h. */
#include <string.h>
#include <iaprof/record.h>
#include "use.h"

static void job_remove(struct trace_use *use, uint32_t position)
{
	use->count--;
	memmove(&use->jobs[position], &use->jobs[position + 1], (use->count - position) * sizeof *use->jobs);
}

/* Returns the position of the oldest job for which all of it agrees, or use->count. */
static uint32_t job_find(const struct trace_use *use, const struct trace_line *line, bool is_submitted)
{
	for (uint32_t i = 0; i < use->count; i++) {
		const struct trace_job *job = &use->jobs[i];
		if (job->context == line->job.context && job->is_submitted == is_submitted &&
		    (job->job == line->job.number || (!is_submitted && !job->job)))
			return i;
	}
	return use->count;
}

static struct trace_job *job_new(struct trace_use *use, const struct trace_line *line)
{
	if (use->count == TRACE_JOBS_MAX) {
		use->jobs_dropped++;
		return NULL;
	}
	struct trace_job *job = &use->jobs[use->count++];
	*job = (struct trace_job){
		.job = line->job.number, .context = line->job.context, .engine = line->job.engine, .pid = line->pid
	};
	return job;
}

static int job_emit(struct trace_use *use, struct record_batch *batch, const struct trace_job *job, uint32_t state,
		    uint64_t time)
{
	bool has_ended = state != IAPROF_JOB_IN_FLIGHT;
	uint64_t run_time = has_ended ? busy_engines_add(use->engines, job->engine, job->queued, time) : 0;
	const struct command_queue_key queue = { .owner = job->context, .engine = job->engine };
	const struct iaprof_record_job record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_JOB, .time = time },
		.submitted = job->created ? job->created : job->queued,
		.queued = job->queued,
		.started = has_ended ? command_queues_end(&use->queues, &queue, job->queued, time) : 0,
		.id = (uint32_t)job->job,
		.pid = job->pid,
		.context = job->context,
		.engine = record_batch_text(batch, job->engine ? "copy" : "compute"),
		.state = state,
	};
	npu_use_add_job(&use->use, &record, run_time);
	/* Without times, a job has no latency. */
	return record.submitted ? record_batch_append(batch, &record.header) : 0;
}

static void job_submit(struct trace_use *use, struct ivpu_running *running, const struct trace_line *line,
		       uint64_t time)
{
	uint32_t position = job_find(use, line, false);
	struct trace_job *job = position < use->count ? &use->jobs[position] : job_new(use, line);
	if (running)
		ivpu_running_submit(running, line->job.context, time);
	if (!job)
		return;
	job->job = line->job.number;
	job->queued = time;
	job->is_submitted = true;
	command_queues_submit(&use->queues, &(struct command_queue_key){ job->context, job->engine, 0 }, time);
}

/* The driver numbers a job between its creation and its submission. */
static enum trace_job_event event_find(const struct trace_use *use, const struct trace_line *line)
{
	if (line->job.event != TRACE_JOB_UNNAMED)
		return line->job.event;
	if (!line->job.number)
		return TRACE_JOB_CREATE;
	return job_find(use, line, true) < use->count ? TRACE_JOB_DONE : TRACE_JOB_SUBMIT;
}

int trace_use_add_event(struct trace_use *use, struct record_batch *batch, struct ivpu_running *running,
			const struct trace_line *line, uint64_t time)
{
	struct trace_job *job;
	uint32_t position;
	int result = 0;
	use->has_job_events = true;
	switch (event_find(use, line)) {
	case TRACE_JOB_CREATE:
		job = job_new(use, line);
		if (job)
			job->created = time;
		return 0;
	case TRACE_JOB_SUBMIT:
		job_submit(use, running, line, time);
		return 0;
	default:
		position = job_find(use, line, true);
		/* Otherwise, it began before the trace. */
		if (position == use->count)
			return 0;
		if (running)
			ivpu_running_add(running, IVPU_EVENT_DONE, 1, time);
		result = job_emit(use, batch, &use->jobs[position],
				  line->job.event == TRACE_JOB_ABORT ? IAPROF_JOB_ABORTED : IAPROF_JOB_DONE, time);
		job_remove(use, position);
		return result;
	}
}

int trace_use_finish(struct trace_use *use, struct record_batch *batch, uint64_t time)
{
	int result = 0;
	for (uint32_t i = 0; i < use->count && !result; i++)
		if (use->jobs[i].is_submitted)
			result = job_emit(use, batch, &use->jobs[i], IAPROF_JOB_IN_FLIGHT, time);
	use->count = 0;
	return result;
}

/*
 * The time since the previous call belongs to its phase if that request goes on; otherwise to the job in flight, or
 * nothing happened.
 */
static enum ivpu_phase phase_between(const struct trace_use *use, const struct trace_frame *frame)
{
	enum ivpu_phase last = use->last, now = frame->place.phase;
	if (!frame->is_outermost || (last == now && (last == IVPU_PHASE_BOOT || last == IVPU_PHASE_RECOVERY)))
		return last;
	return use->calls.in_flight ? IVPU_PHASE_RUN : IVPU_PHASE_IDLE;
}

static void phase_time_add(struct trace_use *use, struct ivpu_running *running, const struct trace_frame *frame,
			   uint64_t time)
{
	if (use->has_time) {
		enum ivpu_phase phase = phase_between(use, frame);
		uint64_t elapsed = time > use->last_time ? time - use->last_time : 0;
		use->use.phases[phase].elapsed += elapsed;
		if (phase == IVPU_PHASE_BOOT)
			ivpu_running_add_boot_time(running, elapsed, !use->was_boot);
		if (phase == IVPU_PHASE_BOOT)
			npu_use_add_boot_time(&use->use, use->last_pid, 0, elapsed);
		use->was_boot = phase == IVPU_PHASE_BOOT;
	}
	use->has_time = true;
	use->last_time = time;
}

static void call_job_begin(struct trace_use *use, uint32_t pid, uint64_t time)
{
	uint64_t position = use->calls.ended + use->calls.in_flight++;
	if (use->calls.in_flight > TRACE_CALL_JOBS_MAX)
		return;
	use->calls.jobs[position % TRACE_CALL_JOBS_MAX].submitted =
		use->calls.jobs[position % TRACE_CALL_JOBS_MAX].queued = time;
	use->calls.jobs[position % TRACE_CALL_JOBS_MAX].pid = pid;
}

/* The last call of a submission passes the job to the device, after buffers were mapped and the firmware was booted. */
static void call_job_queue(struct trace_use *use, uint32_t pid, uint64_t time)
{
	uint64_t kept = use->calls.in_flight < TRACE_CALL_JOBS_MAX ? use->calls.in_flight : TRACE_CALL_JOBS_MAX;
	for (uint64_t i = kept; i > 0; i--) {
		uint64_t position = (use->calls.ended + i - 1) % TRACE_CALL_JOBS_MAX;
		if (use->calls.jobs[position].pid != pid)
			continue;
		use->calls.jobs[position].queued = time;
		return;
	}
}

/* The oldest job ends. Jobs that did not fit have neither a time nor a process. */
static void call_job_end(struct trace_use *use, uint64_t time)
{
	uint64_t position = use->calls.ended++ % TRACE_CALL_JOBS_MAX;
	uint64_t submitted = use->calls.jobs[position].submitted, queued = use->calls.jobs[position].queued;
	struct iaprof_record_job job = { .pid = use->calls.jobs[position].pid, .state = IAPROF_JOB_DONE };
	uint64_t run_time = 0;
	if (submitted && time) {
		job.header.time = time;
		job.submitted = submitted;
		job.queued = queued;
		run_time = busy_times_add(&use->calls.engine, queued, time);
	}
	if (job.pid && !use->has_job_events)
		npu_use_add_job(&use->use, &job, run_time);
	use->calls.jobs[position].submitted = use->calls.jobs[position].pid = 0;
	use->calls.in_flight--;
}

void trace_use_add_call(struct trace_use *use, struct ivpu_running *running, const struct trace_frame *frame,
			const char *comm, uint64_t time)
{
	const struct npu_calls calls = {
		.function = frame->function->known, .place = frame->place, .pid = frame->pid, .comm = comm, .count = 1
	};
	if (time)
		phase_time_add(use, running, frame, time);
	use->last = frame->place.phase;
	use->last_pid = frame->pid;
	npu_use_add(&use->use, &calls);
	if (calls.function->event == IVPU_EVENT_SUBMIT)
		call_job_begin(use, frame->pid, time);
	else if (frame->place.in_submit && !frame->is_outermost)
		call_job_queue(use, frame->pid, time);
	else if (calls.function->event == IVPU_EVENT_DONE && use->calls.in_flight)
		call_job_end(use, time);
}

void trace_use_add_count(struct trace_use *use, const struct trace_function *function, uint64_t count)
{
	const struct npu_calls calls = {
		.function = function->known,
		.place.phase = ivpu_phase_alone(function->known, function->short_name,
						call_entry_is_outermost(function->entry)),
		.comm = "",
		.count = count,
	};
	npu_use_add(&use->use, &calls);
}
