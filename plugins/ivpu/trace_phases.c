/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_phases.h. */
#include "trace_phases.h"

/*
 * The time since the previous call belongs to its phase if that request goes on; otherwise to the job in flight, or
 * nothing happened.
 */
static enum ivpu_phase phase_between(const struct trace_phases *phases, const struct trace_frame *frame)
{
	enum ivpu_phase last = phases->last, now = frame->place.phase;
	if (!frame->is_outermost || (last == now && (last == IVPU_PHASE_BOOT || last == IVPU_PHASE_RECOVERY)))
		return last;
	return phases->jobs_in_flight ? IVPU_PHASE_RUN : IVPU_PHASE_IDLE;
}

static void add_time(struct trace_phases *phases, struct ivpu_running *running, const struct trace_frame *frame,
		     uint64_t time)
{
	if (phases->has_time) {
		enum ivpu_phase phase = phase_between(phases, frame);
		uint64_t elapsed = time > phases->last_time ? time - phases->last_time : 0;
		phases->use.phases[phase].elapsed += elapsed;
		if (phase == IVPU_PHASE_BOOT)
			ivpu_running_add_boot_time(running, elapsed, !phases->was_boot);
		if (phase == IVPU_PHASE_BOOT)
			npu_use_add_boot_time(&phases->use, phases->last_pid, 0, elapsed);
		phases->was_boot = phase == IVPU_PHASE_BOOT;
	}
	phases->has_time = true;
	phases->last_time = time;
}

static void begin_job(struct trace_phases *phases, uint32_t pid, uint64_t time)
{
	uint64_t position = phases->jobs_ended + phases->jobs_in_flight++;
	if (phases->jobs_in_flight > TRACE_PHASES_JOBS)
		return;
	phases->jobs[position % TRACE_PHASES_JOBS].submitted = phases->jobs[position % TRACE_PHASES_JOBS].queued = time;
	phases->jobs[position % TRACE_PHASES_JOBS].pid = pid;
}

/* The last call of a submission passes the job to the device, after buffers were mapped and the firmware was booted. */
static void queue_job(struct trace_phases *phases, uint32_t pid, uint64_t time)
{
	uint64_t kept = phases->jobs_in_flight < TRACE_PHASES_JOBS ? phases->jobs_in_flight : TRACE_PHASES_JOBS;
	for (uint64_t i = kept; i > 0; i--) {
		uint64_t position = (phases->jobs_ended + i - 1) % TRACE_PHASES_JOBS;
		if (phases->jobs[position].pid != pid)
			continue;
		phases->jobs[position].queued = time;
		return;
	}
}

/* The oldest job ends. Jobs that did not fit have neither a time nor a process. */
static void end_job(struct trace_phases *phases, uint64_t time)
{
	uint64_t position = phases->jobs_ended++ % TRACE_PHASES_JOBS;
	uint64_t submitted = phases->jobs[position].submitted, queued = phases->jobs[position].queued;
	struct iaprof_record_job job = { .pid = phases->jobs[position].pid, .state = IAPROF_JOB_DONE };
	if (submitted && time) {
		job.header.time = time;
		job.submitted = submitted;
		job.queued = queued;
		job.started = time - busy_times_add(&phases->engine, queued, time);
	}
	if (job.pid && !phases->has_job_events)
		npu_use_add_job(&phases->use, &job);
	phases->jobs[position].submitted = phases->jobs[position].pid = 0;
	phases->jobs_in_flight--;
}

void trace_phases_add(struct trace_phases *phases, struct ivpu_running *running, const struct trace_frame *frame,
		      const char *comm, uint64_t time)
{
	const struct npu_calls calls = {
		.function = frame->function->known, .place = frame->place, .pid = frame->pid, .comm = comm, .count = 1
	};
	if (time)
		add_time(phases, running, frame, time);
	phases->last = frame->place.phase;
	phases->last_pid = frame->pid;
	npu_use_add(&phases->use, &calls);
	if (calls.function->event == IVPU_EVENT_SUBMIT)
		begin_job(phases, frame->pid, time);
	else if (frame->place.in_submit && !frame->is_outermost)
		queue_job(phases, frame->pid, time);
	else if (calls.function->event == IVPU_EVENT_DONE && phases->jobs_in_flight)
		end_job(phases, time);
}

void trace_phases_count(struct trace_phases *phases, const struct trace_function *function, uint64_t count)
{
	/* Only an outermost call determines its phase by itself. */
	bool is_entry = function->entry && !function->entry->may_be_nested;
	bool is_page = function->known->event == IVPU_EVENT_PAGE_MAP;
	struct npu_calls calls = { .function = function->known, .comm = "", .count = count };
	if (is_entry || is_page)
		calls.place.phase = ivpu_phase_of(IVPU_PHASE_UNKNOWN, function->short_name);
	npu_use_add(&phases->use, &calls);
}
