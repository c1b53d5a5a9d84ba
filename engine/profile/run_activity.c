/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs, calls, counters, devices and processes of a run: see run_activity.h. */
#include "profile/run_activity.h"

#include "base/saturating.h"

static uint64_t later(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

static void count_out_of_memory(struct run_activity *activity, bool stored)
{
	activity->out_of_memory += !stored;
}

static struct activity_process *process_of(struct run_activity *activity, uint32_t pid, uint32_t serial)
{
	for (size_t i = activity->used.count; i-- > 0;)
		if (activity->used.items[i].pid == pid && activity->used.items[i].serial == serial)
			return &activity->used.items[i];
	return NULL;
}

/* Returns the index of the program that had a pid at a given time; TRACK_NO_PROCESS if there are too many. */
static uint32_t process_use(struct run_activity *activity, uint32_t pid, uint64_t time)
{
	const struct process *process = process_table_find(activity->processes, pid, time);
	uint32_t serial = process ? process->serial : 0;
	struct activity_process *used = process_of(activity, pid, serial);
	if (!used && activity->used.count < ACTIVITY_PROCESSES_MAX &&
	    array_push(&activity->used, ((struct activity_process){ .pid = pid, .serial = serial, .name = "" })))
		used = &activity->used.items[activity->used.count - 1];
	if (!used)
		return TRACK_NO_PROCESS;
	if (process && process->name)
		used->name = process->name;
	return (uint32_t)(used - activity->used.items);
}

static void place(struct run_activity *activity, const struct track_key *key, const struct iaprof_event *event,
		  uint32_t thread_name)
{
	count_out_of_memory(activity,
			    timeline_add(&activity->timeline, key, &(struct timeline_event){ *event, thread_name }));
}

void run_activity_update_names(struct run_activity *activity)
{
	for (size_t i = 0; i < activity->used.count; i++) {
		struct activity_process *used = &activity->used.items[i];
		const struct process *process =
			used->serial ? process_table_by_serial(activity->processes, used->serial) : NULL;
		if (process && process->name && *process->name)
			used->name = process->name;
	}
}

void run_activity_place_job(struct run_activity *activity, const struct iaprof_record_job *job)
{
	uint64_t end = job->header.time, ran = job->started ? job->started : job->queued;
	struct iaprof_event event = { .begin = job->submitted ? job->submitted : ran,
				      .end = end,
				      .count = 1,
				      .queued = job->queued,
				      .started = job->started,
				      .id = job->id,
				      .context = job->context,
				      .status = job->status,
				      .state = job->state,
				      .tid = job->tid,
				      .function = IAPROF_ACTIVITY_NONE };
	/* A damaged capture may have contradictory times. */
	if (!event.begin || event.begin > end)
		event.begin = end;
	/* The start of a job in flight is unknown unless the driver reports it. */
	bool runs = ran && (job->state != IAPROF_JOB_IN_FLIGHT || job->started);
	ran = runs ? later(ran, event.begin) : end;
	event.waiting = (ran < end ? ran : end) - event.begin;
	event.busy = end - event.begin - event.waiting;
	place(activity,
	      &(struct track_key){ .kind = iaprof_record_job_copy(job) ? IAPROF_TRACK_COPIES : IAPROF_TRACK_JOBS,
				   .source = job->header.source,
				   .device = job->device,
				   .name = job->engine,
				   .process = process_use(activity, job->pid, end) },
	      &event, iaprof_record_job_thread_name(job));
}

/* Returns the track of a call. */
static struct track_key call_track(const struct call_tree *calls, const struct call_node *node)
{
	const struct call_function *function = &calls->functions.items[node->function];
	struct track_key key = { .kind = IAPROF_TRACK_FAMILY,
				 .source = (uint16_t)node->key.source,
				 .name = function->name_id,
				 .process = TRACK_NO_PROCESS };
	if (function->kind == IAPROF_CALL_API) {
		key.kind = IAPROF_TRACK_API;
	} else if (function->kind == IAPROF_CALL_IOCTL) {
		key.kind = IAPROF_TRACK_IOCTL;
	} else if (function->changes_power) {
		key.kind = IAPROF_TRACK_POWER;
	} else if (node->context != CALL_NONE) {
		key.kind = IAPROF_TRACK_CONTEXT;
		key.name = calls->functions.items[node->context].name_id;
	} else {
		key.name = function->family_id;
	}
	return key;
}

void run_activity_place_call(struct run_activity *activity, const struct iaprof_record_call *call)
{
	uint32_t position = call_tree_find_call(activity->calls, call);
	if (position == CALL_NONE) {
		activity->calls_unplaced = saturating_add(activity->calls_unplaced, call->count);
		return;
	}
	const struct call_node *node = &activity->calls->nodes.items[position];
	struct track_key key = call_track(activity->calls, node);
	/* The record's time is the start of the last call; the end of aggregated calls is an estimate. */
	uint64_t last = call->duration / call->count, end = saturating_add(call->header.time, last);
	struct iaprof_event event = { .begin = call->first_time < call->header.time ? call->first_time
										    : call->header.time,
				      .end = end,
				      .count = call->count,
				      .busy = call->duration,
				      .duration = call->duration,
				      .result = call->result,
				      .tid = call->tid,
				      .function = node->function };
	/* Calls of a family are nested: only their self times can be added. */
	if (key.kind == IAPROF_TRACK_FAMILY || key.kind == IAPROF_TRACK_CONTEXT)
		event.busy = call->self_duration;
	if (key.kind == IAPROF_TRACK_API || key.kind == IAPROF_TRACK_IOCTL)
		key.process = process_use(activity, call->pid, call->header.time);
	place(activity, &key, &event, iaprof_record_call_thread_name(call));
}

void run_activity_clear(struct run_activity *activity)
{
	timeline_free(&activity->timeline);
	activity->timeline = (struct timeline){ .events_max = activity->timeline.events_max };
	array_free(&activity->used);
}

void run_activity_free(struct run_activity *activity)
{
	timeline_free(&activity->timeline);
	counters_free(&activity->counters);
	array_free(&activity->used);
}
