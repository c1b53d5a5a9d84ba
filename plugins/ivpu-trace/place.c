/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_place.h. */
#include <iaprof/record.h>
#include <string.h>
#include "place.h"

void trace_places_free(struct trace_places *places)
{
	keyed_array_free(&places->tasks);
}

/* Returns a task, or NULL when out of memory. */
static struct trace_task *task_get(struct trace_places *places, uint32_t key)
{
	struct trace_task *known = keyed_array_get(&places->tasks, &key);
	if (known)
		return known;
	if (key && places->tasks.count >= TRACE_TASKS_MAX)
		return task_get(places, 0);
	const struct trace_task added = { .key = key };
	uint32_t position = keyed_array_add(&places->tasks, &added);
	return position == POSITION_NONE ? NULL : &places->tasks.items[position];
}

/* Returns the most recently entered frame of a task for which is_caller is true, and its lane, or NULL. */
static struct trace_frame *frame_find(struct trace_task *task, struct trace_lane **in, bool only_last,
				      bool (*is_caller)(const struct trace_frame *frame, const void *context),
				      const void *context)
{
	struct trace_frame *found = NULL;
	for (struct trace_lane *lane = task->lanes; lane < task->lanes + CALL_LANE_COUNT; lane++) {
		if (found && lane->used < (*in)->used)
			continue;
		uint32_t lowest = only_last && lane->depth ? lane->depth - 1 : 0;
		for (uint32_t i = lane->depth; i-- > lowest;)
			if (is_caller(&lane->frames[i], context)) {
				found = &lane->frames[i];
				*in = lane;
				break;
			}
	}
	return found;
}

static bool may_call(const struct trace_frame *frame, const void *context)
{
	const struct trace_function *function = context;
	return !frame->is_over && call_graph_allows(function->callers, frame->function->short_name);
}

static bool is_named(const struct trace_frame *frame, const void *context)
{
	return !strcmp(frame->function->name, context);
}

static struct trace_frame *caller_find(struct trace_task *task, const struct trace_line *line,
				       const struct trace_function *function, struct trace_lane **in)
{
	const struct call_entry *entry = function->entry;
	struct trace_frame *caller = NULL;
	if (call_entry_is_outermost(entry))
		return NULL;
	if (line->caller[0])
		caller = frame_find(task, in, false, is_named, line->caller);
	return caller ? caller : frame_find(task, in, entry && entry->only_directly, may_call, function);
}

/* Calls of function_graph nest by their depth. */
static struct trace_frame *enclosing_find(struct trace_task *task, const struct trace_line *line,
					  struct trace_lane **in)
{
	struct trace_lane *lane = &task->lanes[CALL_LANE_REQUEST];
	while (lane->depth && lane->frames[lane->depth - 1].depth >= line->depth)
		lane->depth--;
	*in = lane;
	return lane->depth ? &lane->frames[lane->depth - 1] : NULL;
}

/*
 * While the driver polls for the firmware's first message, interrupts are off: a function that needs interrupts shows
 * that polling is over.
 */
static void polling_end(struct trace_task *task, const struct trace_function *function)
{
	if (!call_graph_allows("ipc_send hw_irq_handler hw_37xx_irq_handler hw_40xx_irq_handler job_done_callback",
			       function->short_name))
		return;
	struct trace_lane *lane = &task->lanes[CALL_LANE_POWER];
	for (uint32_t i = 0; i < lane->depth; i++)
		if (!strcmp(lane->frames[i].function->short_name, "wait_for_ready"))
			lane->frames[i].is_over = true;
}

/* Stores the node that a call without a caller in the driver is below; 0: none. Returns false when out of memory. */
static bool root_find(struct trace_places *places, const struct trace_line *line, struct trace_frame *frame,
		      uint64_t time, uint32_t *parent)
{
	const struct call_entry *entry = frame->function->entry;
	const char *context = entry ? entry->context : line->has_depth ? NULL : CALL_ORDER_UNKNOWN;
	frame->is_outermost = true;
	frame->is_unordered = context && !entry;
	*parent = context ? call_records_named_node(places->records, 0, context, NULL, IAPROF_CALL_CONTEXT, time) : 0;
	return !context || *parent;
}

static void frame_inherit(struct trace_frame *frame, const struct trace_frame *caller)
{
	frame->in_boot = caller->in_boot;
	frame->place = caller->place;
	frame->is_unordered = caller->is_unordered;
}

struct trace_frame *trace_place(struct trace_places *places, const struct trace_line *line,
				const struct trace_function *function, uint64_t time)
{
	const struct call_entry *entry = function->entry;
	struct trace_task *task = task_get(places, line->lane);
	if (!task)
		return NULL;
	struct trace_lane *lane = &task->lanes[entry ? entry->lane : CALL_LANE_UNKNOWN];
	struct trace_frame frame = { .function = function, .depth = line->depth, .pid = line->pid, .time = time };
	struct trace_frame *caller =
		line->has_depth ? enclosing_find(task, line, &lane) : caller_find(task, line, function, &lane);
	bool is_interrupt = entry && entry->lane == CALL_LANE_INTERRUPT;
	/* An interrupt is not nested in the call that it interrupts, nor a resume in the request that triggers it. */
	struct trace_frame *parent_frame = call_entry_is_outermost(entry) ? NULL : caller;
	uint32_t parent = 0;
	polling_end(task, function);
	if (parent_frame) {
		parent = parent_frame->node;
		frame_inherit(&frame, parent_frame);
		frame.pid = parent_frame->pid;
		/* The last step of polling. */
		if (!strcmp(function->short_name, "ipc_consumer_del") &&
		    !strcmp(caller->function->short_name, "wait_for_ready"))
			caller->is_over = true;
	} else if (!root_find(places, line, &frame, time, &parent)) {
		return NULL;
	}
	if (caller)
		lane->depth = (uint32_t)(caller - lane->frames) + 1;
	else if (!line->has_depth)
		lane->depth = 0;
	if (is_interrupt)
		frame.pid = 0;
	frame.in_boot |= entry && entry->is_boot;
	frame.place = ivpu_place_of(frame.place, function->short_name, function->known->event == IVPU_EVENT_SUBMIT);
	frame.node = call_records_node(places->records, parent, function->id, time);
	if (!frame.node)
		return NULL;
	if (lane->depth == TRACE_DEPTH_MAX)
		lane->depth--;
	lane->used = ++places->calls;
	places->saw_interrupt |= is_interrupt;
	lane->frames[lane->depth] = frame;
	return &lane->frames[lane->depth++];
}

const struct trace_frame *trace_place_end(struct trace_places *places, const struct trace_line *line, uint64_t *self)
{
	struct trace_task *task = task_get(places, line->lane);
	struct trace_lane *lane = task ? &task->lanes[CALL_LANE_REQUEST] : NULL;
	while (lane && lane->depth && lane->frames[lane->depth - 1].depth > line->depth)
		lane->depth--;
	if (!lane || !lane->depth || lane->frames[lane->depth - 1].depth != line->depth)
		return NULL;
	const struct trace_frame *frame = &lane->frames[--lane->depth];
	if (lane->depth)
		lane->frames[lane->depth - 1].child_time += line->duration;
	*self = line->duration > frame->child_time ? line->duration - frame->child_time : 0;
	return frame;
}
