/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_calls.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>
#include "base/saturating.h"
#include "npu/driver_functions.h"
#include "calls.h"

/* Some ids are reserved for "[boot]" and similar roots. */
#define FUNCTIONS_MAX (CALL_FUNCTIONS_MAX - 16)
#define OTHER_FUNCTIONS "[other functions]"

int trace_calls_init(struct trace_calls *calls, const struct iaprof_host *host, bool each_call)
{
	*calls = (struct trace_calls){ .host = host, .each_call = each_call, .clock.begin = host->clock(host) };
	calls->places.records = &calls->records;
	calls->functions = calloc(CALL_FUNCTIONS_MAX, sizeof *calls->functions);
	if (!calls->functions)
		return host->fail(host, ENOMEM, "out of memory");
	return call_records_init(&calls->records, host);
}

void trace_calls_free(struct trace_calls *calls)
{
	for (size_t i = 0; i < calls->names.entries.count; i++)
		free(calls->functions[i]);
	free(calls->functions);
	string_table_free(&calls->names);
	keyed_array_free(&calls->sums);
	npu_use_free(&calls->use.use);
	trace_places_free(&calls->places);
	if (calls->host)
		call_records_free(&calls->records);
	*calls = (struct trace_calls){ 0 };
}

/*
 * Returns the function, defined at that time if it is new, or NULL when out of memory. Functions that do not fit share
 * one entry.
 */
static struct trace_function *function_get(struct trace_calls *calls, const char *name, uint64_t time)
{
	uint32_t id = string_table_find(&calls->names, name, strlen(name));
	bool is_full = calls->names.entries.count >= FUNCTIONS_MAX;
	if (id)
		return calls->functions[id - 1];
	if (is_full && strcmp(name, OTHER_FUNCTIONS) != 0)
		return function_get(calls, OTHER_FUNCTIONS, time);
	struct trace_function *function = calloc(1, sizeof *function);
	id = function ? string_table_add(&calls->names, name, strlen(name), NULL) : 0;
	if (!id) {
		free(function);
		return NULL;
	}
	calls->functions[id - 1] = function;
	function->name = string_table_text(&calls->names, id);
	call_name_shorten(name, function->short_name, sizeof function->short_name);
	function->known = ivpu_function_find(name);
	function->callers = call_graph_callers(function->short_name);
	function->entry = call_entry_find(function->short_name);
	function->id = call_records_function(&calls->records, name, ivpu_family_name(function->known->family),
					     is_full ? IAPROF_CALL_CONTEXT : IAPROF_CALL_FUNCTION, time);
	return function->id ? function : NULL;
}

static int out_of_memory(const struct trace_calls *calls)
{
	return calls->host->fail(calls->host, ENOMEM, "out of memory");
}

/* Adds to the sum of a node and process. Returns 0 or a negative errno. */
static int sum_add(struct trace_calls *calls, uint32_t node, uint32_t pid, const struct trace_sum *more)
{
	struct trace_sum added = { .key = { .node = node, .pid = pid }, .first_time = more->first_time };
	int result = calls->sums.count >= TRACE_SUMS_MAX ? trace_calls_flush(calls) : 0;
	uint32_t position = result ? POSITION_NONE : keyed_array_add(&calls->sums, &added);
	if (position == POSITION_NONE)
		return result ? result : out_of_memory(calls);
	struct trace_sum *sums = &calls->sums.items[position];
	saturating_increase(&sums->count, more->count);
	saturating_increase(&sums->duration, more->duration);
	saturating_increase(&sums->self_duration, more->self_duration);
	sums->last_time = more->last_time;
	return 0;
}

/*
 * A function of the interrupt handler is a message, unless the next call shows that the driver polled: the trace may
 * not contain the boot that polls.
 */
static void handler_add(struct trace_calls *calls, const struct trace_frame *frame, uint64_t time)
{
	if (frame->in_boot)
		calls->running.statistics.boots.polls++;
	else if (!frame->is_unordered || !frame->is_outermost || !calls->places.saw_interrupt)
		ivpu_running_add_messages(&calls->running, 1, time);
}

/*
 * A trace may not contain the functions that boot the firmware. The driver then polls: it calls the handler and
 * receives in turns. After an interrupt, it would not receive next.
 */
static void poll_find(struct trace_calls *calls, const struct trace_frame *frame)
{
	const char *name = frame->function->short_name;
	bool is_handler = frame->function->known->event == IVPU_EVENT_IPC_HANDLER;
	if (calls->after_handler && !strcmp(name, "ipc_receive") && frame->is_unordered &&
	    calls->running.statistics.messages.count) {
		ivpu_running_take_back_message(&calls->running);
		calls->running.statistics.boots.polls++;
		calls->overview.knows_polls = true;
	}
	/* The handler first reads how many messages there are. */
	calls->after_handler = (is_handler && frame->is_unordered) ||
			       (calls->after_handler && !strcmp(name, "hw_ip_ipc_rx_count_get"));
}

static void event_add(struct trace_calls *calls, const struct trace_frame *frame, uint64_t time)
{
	const struct ivpu_function *known = frame->function->known;
	poll_find(calls, frame);
	if (known->family == IVPU_FAMILY_IPC && !frame->in_boot)
		calls->running.statistics.messages.ipc_calls++;
	calls->overview.knows_polls |= frame->in_boot;
	if (known->event == IVPU_EVENT_IPC_HANDLER) {
		handler_add(calls, frame, time);
		calls->overview.knows_messages = true;
	} else if (known->event == IVPU_EVENT_SUBMIT) {
		ivpu_running_submit(&calls->running, frame->pid, time);
	} else {
		ivpu_running_add(&calls->running, known->event, 1, time);
	}
	if (frame->place.in_submit)
		ivpu_running_add_in_submit(&calls->running, known->event, 1);
}

/* Emits the name of a process once; if there are more than the table has room for, later ones more often. */
static int process_name_emit(struct trace_calls *calls, const struct trace_line *line, uint64_t time)
{
	uint32_t *known = &calls->pids[line->pid % TRACE_TASKS_MAX];
	if (!line->pid || !line->comm[0] || *known == line->pid)
		return 0;
	*known = line->pid;
	npu_use_name(&calls->use.use, line->pid, line->comm);
	struct iaprof_record_process record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_PROCESS, .time = time },
		.pid = line->pid,
		.event = IAPROF_PROCESS_EXISTING,
		.name = record_batch_text(&calls->records.batch, line->comm),
	};
	return record_batch_append(&calls->records.batch, &record.header);
}

static int call_emit(struct trace_calls *calls, const struct trace_frame *frame, const struct trace_sum *added,
		     const struct trace_line *line)
{
	return call_records_add(&calls->records, &(struct calls){ .node = frame->node,
								  .pid = frame->pid,
								  .tid = frame->pid ? line->pid : 0,
								  .thread_name = frame->pid ? line->comm : NULL,
								  .count = 1,
								  .duration = added->duration,
								  .self_duration = added->self_duration,
								  .first_time = frame->time,
								  .last_time = frame->time });
}

/* Adds the duration of a call that ended. */
static int call_end(struct trace_calls *calls, const struct trace_line *line, uint64_t time)
{
	uint64_t self = line->duration;
	const struct trace_frame *frame = trace_place_end(&calls->places, line, &self);
	if (!frame || !line->has_duration)
		return 0;
	calls->has_durations = true;
	npu_use_spend(&calls->use.use, frame->place.phase, frame->pid, self);
	const struct trace_sum added = {
		.duration = line->duration, .self_duration = self, .first_time = time, .last_time = time
	};
	if (!calls->each_call)
		return sum_add(calls, frame->node, frame->pid, &added);
	calls->returns_expected--;
	return call_emit(calls, frame, &added, line);
}

static int call_add(struct trace_calls *calls, struct trace_function *function, const struct trace_line *line,
		    uint64_t time)
{
	uint64_t known_time = calls->clock.has_time ? time : 0;
	int result = process_name_emit(calls, line, time);
	calls->overview.calls++;
	const struct trace_frame *frame = result ? NULL : trace_place(&calls->places, line, function, time);
	if (!frame)
		return result ? result : out_of_memory(calls);
	function->count++;
	calls->order_unknown += frame->is_unordered && frame->is_outermost;
	calls->overview.family_counts[function->known->family]++;
	trace_use_add_call(&calls->use, &calls->running, frame, line->comm, known_time);
	event_add(calls, frame, known_time);
	struct trace_sum added = { .count = 1, .first_time = time, .last_time = time };
	bool has_duration = line->has_duration && !line->has_depth;
	if (has_duration) {
		added.duration = added.self_duration = line->duration;
		calls->has_durations = true;
		npu_use_spend(&calls->use.use, frame->place.phase, frame->pid, line->duration);
	}
	if (!calls->each_call)
		result = sum_add(calls, frame->node, frame->pid, &added);
	else if (line->has_depth)
		calls->returns_expected++;
	else
		result = call_emit(calls, frame, &added, line);
	return !result && line->has_duration && line->has_depth ? call_end(calls, line, time) : result;
}

/* What the driver reports about power management. */
static void power_add(struct trace_calls *calls, const struct trace_line *line, uint64_t time)
{
	if (!strcmp(line->name, "resume") || !strcmp(line->name, "runtime resume"))
		ivpu_running_add(&calls->running, IVPU_EVENT_RESUME, 1, time);
}

/*
 * A map that is printed periodically grows, or restarts at zero. Several maps of one trace count the same calls, so
 * only the first one is used.
 */
static void count_add(struct trace_calls *calls, struct trace_function *function, const struct trace_line *line)
{
	if (!calls->has_map) {
		calls->has_map = true;
		memcpy(calls->map, line->map, sizeof calls->map);
	}
	if (strcmp(calls->map, line->map) != 0) {
		calls->other_map_lines++;
		return;
	}
	uint64_t more = line->count >= function->map_last ? line->count - function->map_last : line->count;
	function->map_last = line->count;
	/* Each line of uniq -c has a count of its own. */
	saturating_increase(&function->map_count, line->is_column ? line->count : more);
}

bool trace_calls_is_new(const struct trace_calls *calls, const char *name)
{
	return !string_table_find(&calls->names, name, strlen(name));
}

static int function_add(struct trace_calls *calls, const struct trace_line *line, uint64_t time)
{
	struct trace_function *function = function_get(calls, line->name, time);
	if (!function)
		return out_of_memory(calls);
	if (line->kind == TRACE_LINE_CALL)
		return call_add(calls, function, line, time);
	count_add(calls, function, line);
	return 0;
}

int trace_calls_add(struct trace_calls *calls, const struct trace_line *line)
{
	uint64_t time = trace_clock_advance(&calls->clock, line), known_time = calls->clock.has_time ? time : 0;
	/* Functions indicate the same jobs, messages and resumes as events. */
	bool has_calls = calls->overview.calls;
	int result = 0;
	switch (line->kind) {
	case TRACE_LINE_CALL:
	case TRACE_LINE_COUNT:
		return function_add(calls, line, time);
	case TRACE_LINE_RETURN:
		return call_end(calls, line, time);
	case TRACE_LINE_JOB:
		result = process_name_emit(calls, line, time);
		return result ? result
			      : trace_use_add_event(&calls->use, &calls->records.batch,
						    has_calls ? NULL : &calls->running, line, known_time);
	case TRACE_LINE_MESSAGE:
		calls->overview.knows_messages = true;
		if (!line->is_sent && !has_calls)
			ivpu_running_add_messages(&calls->running, 1, known_time);
		return 0;
	case TRACE_LINE_POWER:
		if (!has_calls)
			power_add(calls, line, known_time);
		return 0;
	default:
		calls->other_functions++;
		return 0;
	}
}

int trace_calls_flush(struct trace_calls *calls)
{
	int result = 0;
	for (size_t i = 0; i < calls->sums.count && !result; i++) {
		const struct trace_sum *sums = &calls->sums.items[i];
		/* The call was emitted before it returned. */
		if (!sums->count)
			continue;
		result = call_records_add(&calls->records, &(struct calls){ .node = sums->key.node,
									    .pid = sums->key.pid,
									    .count = sums->count,
									    .duration = sums->duration,
									    .self_duration = sums->self_duration,
									    .first_time = sums->first_time,
									    .last_time = sums->last_time });
	}
	keyed_array_free(&calls->sums);
	return result ? result : call_records_flush(&calls->records);
}

/* Counts have no order: only functions that nothing else calls can be placed. */
static int counts_place(struct trace_calls *calls)
{
	uint64_t time = calls->clock.begin, messages = 0, handled = 0;
	bool is_boot = false;
	for (uint32_t i = 0; i < calls->names.entries.count; i++) {
		struct trace_function *function = calls->functions[i];
		const struct ivpu_function *known = function->known;
		if (!function->map_count)
			continue;
		uint32_t node = call_records_lone_node(&calls->records, function->id, function->entry, time);
		if (!node)
			return out_of_memory(calls);
		const struct trace_sum added = { .count = function->map_count, .first_time = time, .last_time = time };
		int result = sum_add(calls, node, 0, &added);
		if (result)
			return result;
		trace_use_add_count(&calls->use, function, function->map_count);
		function->count = function->map_count;
		calls->overview.calls += function->count;
		calls->order_unknown += call_entry_is_outermost(function->entry) ? 0 : function->count;
		calls->overview.family_counts[known->family] += function->count;
		messages += known->event == IVPU_EVENT_MESSAGE ? function->count : 0;
		handled += known->event == IVPU_EVENT_IPC_HANDLER ? function->count : 0;
		is_boot |= !strcmp(function->short_name, "wait_for_ready");
		ivpu_running_add(&calls->running, known->event, function->count, 0);
	}
	/* If there was a boot, the handler's count includes its polling. */
	ivpu_running_add_messages(&calls->running, messages || is_boot ? messages : handled, 0);
	calls->overview.knows_messages = messages || (handled && !is_boot);
	/* Without the driver's other calls of the handler, it is not known how many were polls. */
	if (is_boot && messages && handled > messages)
		calls->running.statistics.boots.polls = handled - messages;
	calls->overview.knows_polls = calls->running.statistics.boots.polls;
	return 0;
}

static void counts_compare(struct trace_calls *calls)
{
	const struct trace_function *first = NULL;
	for (uint32_t i = 0; i < calls->names.entries.count; i++) {
		const struct trace_function *function = calls->functions[i];
		/* print(@calls, 20) leaves out functions. */
		if (!function->map_count || function->count == function->map_count)
			continue;
		first = first ? first : function;
		calls->functions_differ++;
	}
	if (first)
		calls->host->log(calls->host, IAPROF_LOG_WARNING,
				 "lines and map of the trace differ in %lu functions (%s: %lu lines, %lu in the map): "
				 "using the lines (bpftrace may have lost events)",
				 (unsigned long)calls->functions_differ, first->name, (unsigned long)first->count,
				 (unsigned long)first->map_count);
}

int trace_calls_finish(struct trace_calls *calls)
{
	int result = 0;
	if (calls->has_map && calls->overview.calls)
		counts_compare(calls);
	else if (calls->has_map) {
		calls->is_summed = true;
		calls->host->metadata(calls->host, "mode", "count"); /* regardless of mode= */
		result = counts_place(calls);
	}
	if (calls->returns_expected)
		calls->host->lost(calls->host, "calls: return not seen", calls->clock.begin, calls->returns_expected,
				  calls->records.count_type, calls->returns_expected);
	if (!result)
		result = trace_use_finish(&calls->use, &calls->records.batch, calls->clock.now);
	return result ? result : trace_calls_flush(calls);
}
