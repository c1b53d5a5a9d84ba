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
		phases->was_boot = phase == IVPU_PHASE_BOOT;
	}
	phases->has_time = true;
	phases->last_time = time;
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
	npu_use_add(&phases->use, &calls);
	if (calls.function->event == IVPU_EVENT_SUBMIT)
		phases->jobs_in_flight++;
	else if (calls.function->event == IVPU_EVENT_DONE && phases->jobs_in_flight)
		phases->jobs_in_flight--;
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
