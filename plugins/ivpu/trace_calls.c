/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_calls.h. */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>
#include "families.h"
#include "trace_calls.h"
#include "trace_function.h"

#define DAY 86400000000000u
/* Times of a trace are kept below it, so that a time of the machine can be added: 146 years. */
#define TIME_MAX (UINT64_MAX >> 2)
#define ORDER_UNKNOWN "[order not known]"

int trace_calls_init(struct trace_calls *calls, const struct iaprof_host *host, bool each_call)
{
	*calls = (struct trace_calls){ .host = host, .each_call = each_call, .begin = host->clock(host) };
	calls->functions = calloc(CALL_FUNCTIONS_MAX, sizeof *calls->functions);
	/* Pages for nodes that no trace needs are never touched. */
	calls->sums = calloc(CALL_NODES_MAX + 1, sizeof *calls->sums);
	calls->changed = calloc(CALL_NODES_MAX + 1, sizeof *calls->changed);
	if (!calls->functions || !calls->sums || !calls->changed)
		return host->fail(host, ENOMEM, "out of memory");
	return call_records_init(&calls->records, host);
}

void trace_calls_free(struct trace_calls *calls)
{
	tdestroy(calls->index, free);
	free(calls->functions);
	free(calls->sums);
	free(calls->changed);
	if (calls->host)
		call_records_free(&calls->records);
	*calls = (struct trace_calls){ 0 };
}

/* A time of the trace on the machine's clock. Threads write a little out of order: time stands still then. */
static uint64_t machine_time(struct trace_calls *calls, const struct trace_line *line, uint64_t number)
{
	uint64_t time = line->time < TIME_MAX ? line->time : TIME_MAX;
	if (line->time_kind != TRACE_TIME_NONE && !calls->has_time) {
		calls->has_time = true;
		calls->time_kind = line->time_kind;
		calls->first_time = calls->last_time = time;
	}
	if (line->time_kind != TRACE_TIME_NONE && line->time_kind == calls->time_kind) {
		if (line->time_kind == TRACE_TIME_OF_DAY) {
			time += calls->last_time / DAY * DAY;
			if (time + DAY / 2 < calls->last_time)
				time += DAY;
		}
		if (time > calls->last_time)
			calls->last_time = time;
	}
	uint64_t now = calls->begin + (calls->has_time ? calls->last_time - calls->first_time : number);
	/* Lines before the first one with a time have none. */
	calls->now = now > calls->now ? now : calls->now;
	return calls->now;
}

/* The frame of the function entered last that can have called this one, and its lane; NULL none. */
static struct trace_frame *find_caller(struct trace_calls *calls, const struct trace_function *function,
				       struct trace_lane **in)
{
	struct trace_frame *found = NULL;
	bool only_directly = function->entry && function->entry->only_directly;
	for (struct trace_lane *lane = calls->lanes; lane < calls->lanes + CALL_LANE_COUNT; lane++) {
		if (found && lane->used < (*in)->used)
			continue;
		uint32_t lowest = only_directly && lane->depth ? lane->depth - 1 : 0;
		for (uint32_t i = lane->depth; i-- > lowest;)
			if (!lane->frames[i].is_over &&
			    callers_allow(function->callers, lane->frames[i].function->short_name)) {
				found = &lane->frames[i];
				*in = lane;
				break;
			}
	}
	return found;
}

static uint32_t context_node(struct trace_calls *calls, const char *name, uint64_t time)
{
	uint32_t function = call_records_function(&calls->records, name, NULL, IAPROF_CALL_CONTEXT, time);
	return function ? call_records_node(&calls->records, 0, function, time) : 0;
}

/* The driver polls for the first message of the firmware without interrupts: what needs them says that this is over. */
static void end_polling(struct trace_calls *calls, const struct trace_function *function)
{
	if (!callers_allow("ipc_send hw_irq_handler hw_37xx_irq_handler hw_40xx_irq_handler job_done_callback",
			   function->short_name))
		return;
	struct trace_lane *lane = &calls->lanes[CALL_LANE_POWER];
	for (uint32_t i = 0; i < lane->depth; i++)
		if (!strcmp(lane->frames[i].function->short_name, "wait_for_ready"))
			lane->frames[i].is_over = true;
}

/* Puts a call where it belongs; NULL: out of memory. */
static const struct trace_frame *place(struct trace_calls *calls, const struct trace_function *function, uint64_t time)
{
	const struct call_entry *entry = function->entry;
	struct trace_lane *lane = &calls->lanes[entry ? entry->lane : CALL_LANE_UNKNOWN];
	struct trace_frame frame = { .function = function };
	struct trace_frame *caller = !entry || entry->may_be_nested ? find_caller(calls, function, &lane) : NULL;
	uint32_t parent = 0;
	end_polling(calls, function);
	if (caller) {
		parent = caller->node;
		frame.in_boot = caller->in_boot;
		lane->depth = (uint32_t)(caller - lane->frames) + 1;
		/* The last thing that polling does. */
		if (!strcmp(function->short_name, "ipc_consumer_del") &&
		    !strcmp(caller->function->short_name, "wait_for_ready"))
			caller->is_over = true;
	} else {
		const char *context = entry ? entry->context : ORDER_UNKNOWN;
		parent = context ? context_node(calls, context, time) : 0;
		if (context && !parent)
			return NULL;
		lane->depth = 0;
	}
	frame.in_boot |= entry && entry->is_boot;
	frame.node = call_records_node(&calls->records, parent, function->id, time);
	if (!frame.node)
		return NULL;
	if (lane->depth == TRACE_DEPTH_MAX)
		lane->depth--;
	lane->used = calls->call_count;
	calls->saw_interrupt |= lane == &calls->lanes[CALL_LANE_INTERRUPT];
	calls->order_unknown += lane == &calls->lanes[CALL_LANE_UNKNOWN] && !lane->depth;
	lane->frames[lane->depth] = frame;
	return &lane->frames[lane->depth++];
}

static void sum(struct trace_calls *calls, uint32_t node, uint64_t count, uint64_t time)
{
	struct trace_sum *sums = &calls->sums[node];
	if (!sums->count) {
		sums->first_time = time;
		calls->changed[calls->changed_count++] = node;
	}
	if (__builtin_add_overflow(sums->count, count, &sums->count))
		sums->count = UINT64_MAX;
	sums->last_time = time;
}

static void add_event(struct trace_calls *calls, const struct trace_frame *frame, uint64_t time)
{
	const struct ivpu_function *known = frame->function->known;
	bool is_unknown = frame == calls->lanes[CALL_LANE_UNKNOWN].frames;
	if (known->family == IVPU_FAMILY_IPC && !frame->in_boot)
		calls->running.tally.ipc_calls++;
	if (known->event != IVPU_EVENT_IPC_HANDLER)
		ivpu_running_add(&calls->running, known->event, 1, time);
	else if (frame->in_boot)
		calls->boot_polls++;
	else if (!is_unknown || !calls->saw_interrupt)
		ivpu_running_add_messages(&calls->running, 1, time);
}

static int out_of_memory(const struct trace_calls *calls)
{
	return calls->host->fail(calls->host, ENOMEM, "out of memory");
}

static int add_call(struct trace_calls *calls, struct trace_function *function, uint64_t time)
{
	calls->call_count++;
	const struct trace_frame *frame = place(calls, function, time);
	if (!frame)
		return out_of_memory(calls);
	function->count++;
	calls->headline_counts[function->known->headline]++;
	add_event(calls, frame, calls->has_time ? time : 0);
	if (!calls->each_call) {
		sum(calls, frame->node, 1, time);
		return 0;
	}
	return call_records_add(
		&calls->records,
		&(struct calls){ .node = frame->node, .count = 1, .first_time = time, .last_time = time });
}

/*
 * A map that is printed every now and then grows, or begins again from zero. Maps of one trace count the same calls in
 * different ways: the first one is taken.
 */
static void add_count(struct trace_calls *calls, struct trace_function *function, const struct trace_line *line)
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
	if (__builtin_add_overflow(function->map_count, more, &function->map_count))
		function->map_count = UINT64_MAX;
}

int trace_calls_add(struct trace_calls *calls, const struct trace_line *line, uint64_t number)
{
	uint64_t time = machine_time(calls, line, number);
	struct trace_function *function = trace_function_get(calls, line->name, time);
	if (!function)
		return out_of_memory(calls);
	if (line->kind == TRACE_LINE_CALL)
		return add_call(calls, function, time);
	add_count(calls, function, line);
	return 0;
}

int trace_calls_flush(struct trace_calls *calls)
{
	int result = 0;
	for (uint32_t i = 0; i < calls->changed_count && !result; i++) {
		struct trace_sum *sums = &calls->sums[calls->changed[i]];
		result = call_records_add(&calls->records, &(struct calls){ .node = calls->changed[i],
									    .count = sums->count,
									    .first_time = sums->first_time,
									    .last_time = sums->last_time });
		*sums = (struct trace_sum){ 0 };
	}
	calls->changed_count = 0;
	return result ? result : call_records_flush(&calls->records);
}

/* Counts have no order: only what nothing else calls has a place. */
static int take_counts(struct trace_calls *calls)
{
	uint64_t time = calls->begin, messages = 0, handled = 0;
	bool is_boot = false;
	for (uint32_t i = 0; i < calls->function_count; i++) {
		struct trace_function *function = calls->functions[i];
		const struct ivpu_function *known = function->known;
		if (!function->map_count)
			continue;
		bool is_entry = function->entry && !function->entry->may_be_nested;
		uint32_t parent = is_entry ? 0 : context_node(calls, ORDER_UNKNOWN, time);
		uint32_t node = is_entry || parent ? call_records_node(&calls->records, parent, function->id, time) : 0;
		if (!node)
			return out_of_memory(calls);
		sum(calls, node, function->map_count, time);
		function->count = function->map_count;
		calls->call_count += function->count;
		calls->order_unknown += is_entry ? 0 : function->count;
		calls->headline_counts[known->headline] += function->count;
		messages += known->event == IVPU_EVENT_MESSAGE ? function->count : 0;
		handled += known->event == IVPU_EVENT_IPC_HANDLER ? function->count : 0;
		is_boot |= !strcmp(function->short_name, "wait_for_ready");
		ivpu_running_add(&calls->running, known->event, function->count, 0);
	}
	/* With a boot in it, the handler's count has the polling of the boot too. */
	ivpu_running_add_messages(&calls->running, messages || is_boot ? messages : handled, 0);
	return 0;
}

static void compare_counts(struct trace_calls *calls)
{
	const struct trace_function *first = NULL;
	for (uint32_t i = 0; i < calls->function_count; i++) {
		const struct trace_function *function = calls->functions[i];
		if (function->count == function->map_count)
			continue;
		first = first ? first : function;
		calls->functions_differ++;
	}
	if (first)
		calls->host->log(
			calls->host, IAPROF_LOG_WARNING,
			"the trace's lines and its map differ in %lu functions (%s: %lu lines, %lu in the map): "
			"the lines are taken; where there are fewer, bpftrace lost some",
			(unsigned long)calls->functions_differ, first->name, (unsigned long)first->count,
			(unsigned long)first->map_count);
}

int trace_calls_finish(struct trace_calls *calls)
{
	int result = 0;
	if (calls->has_map && calls->call_count)
		compare_counts(calls);
	else if (calls->has_map) {
		calls->is_summed = true;
		calls->host->metadata(calls->host, "mode", "count"); /* whatever was asked for */
		result = take_counts(calls);
	}
	return result ? result : trace_calls_flush(calls);
}
