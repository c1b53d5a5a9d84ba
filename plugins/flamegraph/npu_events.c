/* SPDX-License-Identifier: Apache-2.0 */
/* See npu_events.h. */
#include "npu_events.h"

#include <string.h>

static uint64_t later(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

static bool take_job(struct npu_events *events, const struct iaprof_record_job *job)
{
	uint64_t end = job->header.time, ran = job->started ? job->started : job->queued;
	struct track_key key = {
		.kind = TRACK_JOBS, .source = job->header.source, .device = job->device, .name = job->engine
	};
	struct moment moment = { .begin = job->submitted ? job->submitted : ran,
				 .end = end,
				 .count = 1,
				 .queued = job->queued,
				 .started = job->started,
				 .id = job->id,
				 .context = job->context,
				 .status = job->status,
				 .state = job->state,
				 .tid = job->tid };
	/* Times that contradict each other are those of a damaged capture. */
	if (!moment.begin || moment.begin > end)
		moment.begin = end;
	/* When the device began with a job that it is not done with, nobody can tell, unless the driver said so. */
	bool runs = ran && (job->state != IAPROF_JOB_IN_FLIGHT || job->started);
	ran = runs ? later(ran, moment.begin) : end;
	moment.waiting = (ran < end ? ran : end) - moment.begin;
	moment.busy = end - moment.begin - moment.waiting;
	return process_names_use(&events->processes, job->pid, &key.process) &&
	       value_histograms_take_job(&events->histograms, job) && timeline_add(&events->timeline, &key, &moment);
}

/* Calls that wake a device or let it sleep are not many, and what others wait for. */
static bool is_boot(const struct npu_events *events, const struct called_function *function)
{
	static const char *const parts[] = { "_boot", "resume", "suspend", "recovery", "reset_" };
	const char *name = definitions_text(events->definitions, function->name);
	size_t length = strlen(name), boot = strlen(parts[0]);
	if (length >= boot && strcmp(name + length - boot, parts[0]) == 0)
		return true;
	for (size_t i = 1; i < sizeof parts / sizeof *parts; i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

/* In which row of the page a call is: *process says whether those of different processes are told apart. */
static enum track_kind call_place(const struct npu_events *events, const struct called_node *node, uint32_t *name,
				  bool *process)
{
	const struct called_function *function = &events->calls.functions[node->function];
	*name = function->name;
	*process = function->kind == IAPROF_CALL_API || function->kind == IAPROF_CALL_IOCTL;
	if (*process)
		return function->kind == IAPROF_CALL_API ? TRACK_API : TRACK_REQUEST;
	if (is_boot(events, function))
		return TRACK_BOOTS;
	if (node->context != CALL_SUMS_NONE) {
		*name = events->calls.functions[node->context].name;
		return TRACK_CONTEXT;
	}
	*name = function->family;
	return TRACK_FAMILY;
}

static bool take_call(struct npu_events *events, const struct iaprof_record_call *call)
{
	const struct called_node *node;
	if (!call_sums_take(&events->calls, call, &node))
		return false;
	if (!node)
		return true;
	struct track_key key = { .source = call->header.source, .process = TRACK_NO_PROCESS };
	bool tells_processes;
	key.kind = call_place(events, node, &key.name, &tells_processes);
	/* The last one began at the record's time: about when it ended is known of calls that were added up. */
	uint64_t last = call->duration / call->count, end = call->header.time + last;
	struct moment moment = { .begin = call->first_time < call->header.time ? call->first_time : call->header.time,
				 .end = end < last ? UINT64_MAX : end,
				 .count = call->count,
				 .busy = call->duration,
				 .duration = call->duration,
				 .result = call->result,
				 .tid = call->tid,
				 .function = node->function };
	/* Within a family calls are nested in each other: their own time adds up. */
	if (key.kind == TRACK_FAMILY || key.kind == TRACK_CONTEXT)
		moment.busy = call->self_duration;
	return (!tells_processes || process_names_use(&events->processes, call->pid, &key.process)) &&
	       timeline_add(&events->timeline, &key, &moment);
}

bool npu_events_take(struct npu_events *events, const struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_PROCESS:
		return process_names_take(&events->processes, (const void *)record);
	case IAPROF_RECORD_CALL_FUNCTION:
		return call_sums_take_function(&events->calls, (const void *)record);
	case IAPROF_RECORD_CALL_NODE:
		return call_sums_take_node(&events->calls, (const void *)record);
	case IAPROF_RECORD_CALL:
		return take_call(events, (const void *)record);
	case IAPROF_RECORD_JOB:
		return take_job(events, (const void *)record);
	case IAPROF_RECORD_HISTOGRAM:
		return value_histograms_take(&events->histograms, (const void *)record);
	case IAPROF_RECORD_COUNTER_VALUE:
		return gauges_take(&events->gauges, events->definitions, (const void *)record);
	case IAPROF_RECORD_FINDING:
		finding_list_take(&events->findings, (const void *)record);
		return true;
	default:
		return true;
	}
}

bool npu_events_are_there(const struct npu_events *events)
{
	return events->timeline.has_time || events->histograms.count || events->calls.unplaced || events->gauges.count;
}

void npu_events_free(struct npu_events *events)
{
	process_names_free(&events->processes);
	timeline_free(&events->timeline);
	call_sums_free(&events->calls);
	value_histograms_free(&events->histograms);
	gauges_free(&events->gauges);
	*events = (struct npu_events){ 0 };
}
