/* SPDX-License-Identifier: Apache-2.0 */
/* See events.h. */
#include "events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stacks/stack_text.h"

/*
 * Slices of a job. timeline_event.part is the job's number times 2, plus one of these; the number links the two slices.
 */
enum job_part { JOB_WAITS, JOB_RUNS };

/* An event under construction. */
struct draft {
	struct packet_event event;
	struct packet_value values[16];
	struct text name, stack, trace, span;
};

/* Appends an argument: ADD(draft, UNSIGNED, number, "count", 5). */
#define ADD(draft, TYPE, member, name, argument)                                                                       \
	((draft)->values[(draft)->event.value_count++] =                                                               \
		 (struct packet_value){ .key = (name), .type = PACKET_##TYPE, .member = (argument) })

/* Formats "main;left;right", if the names of the frames are known. */
static void add_stack(const struct events *events, struct draft *draft, uint32_t id)
{
	const struct iaprof_record_stack_frames *found =
		id ? definitions_find(events->definitions, IAPROF_RECORD_STACK_FRAMES, 0, id) : NULL;
	if (!found)
		return;
	const struct stack_text_options options = { 0 };
	for (uint32_t i = 0; i < found->frame_count; i++) {
		const struct iaprof_record_frame *recorded = iaprof_record_stack_frames_frame(found, i);
		const struct iaprof_frame frame = { .name = definitions_text(events->definitions, recorded->name),
						    .kind = recorded->kind,
						    .flags = recorded->flags };
		if (stack_text_frame_is_hidden(&frame, &options))
			continue;
		text_append_string(&draft->stack, draft->stack.size ? ";" : "");
		stack_text_append_frame(&draft->stack, &frame, &options);
	}
	ADD(draft, STRING, string, "stack", text_string(&draft->stack));
}

/* Adds the ids of a span as traces show them; nothing for NULL. */
static void add_span(struct draft *draft, const struct iaprof_span *span)
{
	if (!span)
		return;
	text_append_hexadecimal(&draft->trace, span->trace_id, sizeof span->trace_id);
	text_append_hexadecimal(&draft->span, span->span_id, sizeof span->span_id);
	ADD(draft, STRING, string, "trace_id", text_string(&draft->trace));
	ADD(draft, STRING, string, "span_id", text_string(&draft->span));
}

static bool add_event(struct events *events, const struct track_key *key, bool nests,
		      const struct iaprof_record *record, uint64_t begin, uint64_t end, uint32_t depth, uint32_t part)
{
	const struct timeline_event event = { .begin = begin < end ? begin : end,
					      .end = end,
					      .depth = depth,
					      .part = part,
					      .record = (struct iaprof_record *)(uintptr_t)record };
	return timelines_add(events->timelines, key, nests, &event);
}

bool events_add_call(struct events *events, const struct iaprof_record_call *call, bool is_nested)
{
	const struct track_key key = { TRACK_CALLS, { call->pid, call->tid, 0 } };
	uint64_t begin = call->header.time;
	uint64_t end = call->duration > UINT64_MAX - begin ? UINT64_MAX : begin + call->duration;
	return add_event(events, &key, true, &call->header, begin, end, is_nested ? call->depth : 0, 0);
}

bool events_add_launch(struct events *events, const struct iaprof_record_launch *launch)
{
	const struct track_key key = { TRACK_LAUNCHES, { launch->pid, launch->tid, 0 } };
	return add_event(events, &key, false, &launch->header, launch->first_time, launch->header.time, 0, 0);
}

/* Returns the end of the last job of an engine; NULL if there are too many engines. */
static uint64_t *engine_end(struct events *events, const struct track_key *engine)
{
	for (uint32_t i = 0; i < events->engine_count; i++)
		if (track_key_is_equal(&events->engines[i].engine, engine))
			return &events->engines[i].end;
	if (events->engine_count == EVENTS_ENGINE_COUNT_MAX)
		return NULL;
	events->engines[events->engine_count].engine = *engine;
	return &events->engines[events->engine_count++].end;
}

bool events_add_job(struct events *events, const struct iaprof_record_job *job)
{
	const struct track_key waiting = { TRACK_JOBS, { job->pid, 0, 0 } };
	const struct track_key engine = { TRACK_ENGINE, { job->header.source, job->device, job->engine } };
	uint64_t *last_end = engine_end(events, &engine), end = job->header.time;
	uint64_t handed_on = job->queued ? job->queued : job->submitted;
	uint64_t begin = job->started;
	/* Assumes that the device started immediately, or after the previous job. */
	if (!begin && handed_on)
		begin = last_end && *last_end > handed_on && *last_end < end ? *last_end : handed_on;
	if (!begin || begin > end)
		begin = end;
	if (last_end && end > *last_end)
		*last_end = end;
	uint32_t number = (uint32_t)(++events->jobs << 1);
	return (!job->submitted || job->submitted >= begin ||
		add_event(events, &waiting, false, &job->header, job->submitted, begin, 0, number | JOB_WAITS)) &&
	       add_event(events, &engine, false, &job->header, begin, end, 0, number | JOB_RUNS);
}

bool events_add_finding(struct events *events, const struct iaprof_record_finding *finding)
{
	const struct track_key key = { TRACK_FINDINGS, { finding->pid, 0, 0 } };
	return add_event(events, &key, false, &finding->header, finding->header.time, finding->header.time, 0, 0);
}

bool events_add_lost(struct events *events, const struct iaprof_record_lost *lost)
{
	const struct track_key key = { TRACK_LOST, { 0, 0, 0 } };
	return add_event(events, &key, false, &lost->header, lost->header.time, lost->header.time, 0, 0);
}

static const char *string_of(const struct events *events, uint32_t id)
{
	return definitions_text(events->definitions, id);
}

static void fill_call(const struct events *events, struct draft *draft, const struct iaprof_record_call *call)
{
	text_append_string(&draft->name, string_of(events, call->name));
	draft->event.category = "call";
	if (call->parent)
		ADD(draft, STRING, string, "inside of", string_of(events, call->parent));
	ADD(draft, SIGNED, signed_number, "result", call->result);
	if (call->header.size >= sizeof *call && call->duration)
		ADD(draft, UNSIGNED, number, "self (ns)", call->self_duration);
	add_stack(events, draft, call->user_stack);
}

/* Adds the most important attributes of a kernel. */
static void add_attributes(const struct events *events, struct draft *draft,
			   const struct iaprof_record_code_function *function)
{
	static const char *const wanted[] = { "simd_size", "grf_count", "spill_size", "slm_size" };
	const struct iaprof_attribute *attributes = iaprof_record_code_function_attributes(function);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		for (uint32_t at = 0; at < function->attribute_count; at++)
			if (strcmp(string_of(events, attributes[at].name), wanted[i]) == 0) {
				ADD(draft, SIGNED, signed_number, wanted[i], attributes[at].value);
				break;
			}
}

static void append_kernel(struct text *text, const struct events *events, const struct iaprof_record_kernel *kernel,
			  const struct iaprof_record_code_function *function)
{
	text_append_string(text, function ? string_of(events, function->shown_name)
				 : kernel ? string_of(events, kernel->name)
					  : "[unknown kernel]");
}

static const struct iaprof_record_code_function *function_of(const struct events *events,
							     const struct iaprof_record_kernel *kernel)
{
	return kernel ? definitions_find_function(events->definitions, kernel->header.source, kernel->code_object,
						  kernel->name)
		      : NULL;
}

static void fill_launch(const struct events *events, struct draft *draft, const struct iaprof_record_launch *launch)
{
	const struct iaprof_record_kernel *kernel =
		definitions_find(events->definitions, IAPROF_RECORD_KERNEL, launch->header.source, launch->kernel);
	const struct iaprof_record_code_function *function = function_of(events, kernel);
	draft->event.category = "launch";
	append_kernel(&draft->name, events, kernel, function);
	if (launch->count > 1) /* aggregated launches state their number */
		text_append_format(&draft->name, " (%" PRIu64 " launches)", launch->count);
	ADD(draft, UNSIGNED, number, "count", launch->count);
	if (function)
		add_attributes(events, draft, function);
	add_stack(events, draft, launch->user_stack);
	add_span(draft, iaprof_record_launch_span(launch));
}

static void fill_job(const struct events *events, struct draft *draft, const struct iaprof_record_job *job,
		     uint32_t part)
{
	static const char *const states[] = { "not known", "done", "aborted", "in flight" };
	const char *process = tracks_process_name(events->tracks, job->pid);
	draft->event.category = "job";
	draft->event.flow = (uint64_t)(part >> 1) + 1;
	if (iaprof_record_job_has_kernel(job)) { /* an execution */
		const struct iaprof_record_kernel *kernel =
			definitions_find(events->definitions, IAPROF_RECORD_KERNEL, job->header.source, job->kernel);
		append_kernel(&draft->name, events, kernel, function_of(events, kernel));
		text_append_string(&draft->name, (part & 1) == JOB_WAITS ? " waits" : "");
	} else {
		text_append_format(&draft->name, "job%s%s",
				   (part & 1) == JOB_WAITS ? " waits"
				   : *process              ? " of "
							   : "",
				   (part & 1) == JOB_WAITS ? "" : process);
	}
	if (iaprof_record_job_bytes(job))
		ADD(draft, UNSIGNED, number, "bytes", iaprof_record_job_bytes(job));
	ADD(draft, UNSIGNED, number, "job", job->id);
	ADD(draft, UNSIGNED, number, "context", job->context);
	ADD(draft, UNSIGNED, number, "pid", job->pid);
	if (job->tid)
		ADD(draft, UNSIGNED, number, "tid", job->tid);
	if (iaprof_record_job_thread_name(job))
		ADD(draft, STRING, string, "thread", string_of(events, iaprof_record_job_thread_name(job)));
	if (job->engine)
		ADD(draft, STRING, string, "engine", string_of(events, job->engine));
	ADD(draft, STRING, string, "state", states[job->state < sizeof states / sizeof *states ? job->state : 0]);
	ADD(draft, UNSIGNED, number, "status", job->status);
	if (!job->started)
		ADD(draft, STRING, string, "begin of work", "unknown: at once, or after the previous job");
}

static void fill_finding(const struct events *events, struct draft *draft, const struct iaprof_record_finding *finding)
{
	static const char *const severities[] = { "not known", "note", "warning", "problem" };
	text_append_string(&draft->name, string_of(events, finding->name));
	draft->event.category = "finding";
	ADD(draft, STRING, string, "text", string_of(events, finding->text));
	ADD(draft, STRING, string, "severity",
	    severities[finding->severity < sizeof severities / sizeof *severities ? finding->severity : 0]);
	ADD(draft, DOUBLE, real, "value", finding->value);
	ADD(draft, DOUBLE, real, "threshold", finding->threshold);
}

static void fill_lost(const struct events *events, struct draft *draft, const struct iaprof_record_lost *lost)
{
	const struct iaprof_record_source *source =
		definitions_find(events->definitions, IAPROF_RECORD_SOURCE, 0, lost->header.source);
	const struct iaprof_record_value_type *type =
		definitions_find(events->definitions, IAPROF_RECORD_VALUE_TYPE, 0, lost->value_type);
	text_append_format(&draft->name, "lost: %s", string_of(events, lost->reason));
	draft->event.category = "lost";
	ADD(draft, STRING, string, "source", source ? string_of(events, source->name) : "iaprof");
	if (lost->count == IAPROF_COUNT_UNKNOWN)
		ADD(draft, STRING, string, "count", "not known");
	else
		ADD(draft, UNSIGNED, number, "count", lost->count);
	if (lost->header.time > lost->begin)
		ADD(draft, UNSIGNED, number, "within (ns)", lost->header.time - lost->begin);
	if (type && lost->value) {
		ADD(draft, UNSIGNED, number, "value", lost->value);
		ADD(draft, STRING, string, "value type", string_of(events, type->name));
	}
}

uint64_t events_begin(void *context, const struct timeline *timeline, uint32_t lane, const struct timeline_event *event)
{
	struct events *events = context;
	struct draft draft = { 0 };
	draft.event = (struct packet_event){ .type = event->begin < event->end ? PACKET_SLICE_BEGIN : PACKET_INSTANT,
					     .track = tracks_find(events->tracks, &timeline->key, lane),
					     .time = event->begin,
					     .values = draft.values };
	switch (event->record->type) {
	case IAPROF_RECORD_CALL:
		fill_call(events, &draft, (const void *)event->record);
		break;
	case IAPROF_RECORD_LAUNCH:
		fill_launch(events, &draft, (const void *)event->record);
		break;
	case IAPROF_RECORD_JOB:
		fill_job(events, &draft, (const void *)event->record, event->part);
		break;
	case IAPROF_RECORD_FINDING:
		fill_finding(events, &draft, (const void *)event->record);
		break;
	case IAPROF_RECORD_LOST:
		fill_lost(events, &draft, (const void *)event->record);
		break;
	default:
		break;
	}
	draft.event.name = text_string(&draft.name);
	packets_event(events->packets, &draft.event);
	text_free(&draft.name);
	text_free(&draft.stack);
	text_free(&draft.trace);
	text_free(&draft.span);
	return draft.event.track;
}

void events_end(void *context, uint64_t track, uint64_t time)
{
	const struct events *events = context;
	packets_event(events->packets,
		      &(struct packet_event){ .type = PACKET_SLICE_END, .track = track, .time = time });
}
