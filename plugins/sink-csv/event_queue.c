/* SPDX-License-Identifier: Apache-2.0 */
/* Delays rows until their stacks are symbolized: see event_queue.h. */
#include "event_queue.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"

/* Symbols arrive with the next SYNC, about a second later; after this time none will. */
#define WAIT_AT_MOST 5000000000ull

/* Limit on waiting events; beyond it, the oldest is written without symbols. */
#define WAITING_COUNT_MAX 65536u

/* Parts of a row that can arrive after its record. */
static struct waiting_event find_needs(const struct definitions *definitions, const struct iaprof_record *record)
{
	struct waiting_event needs = { 0 };
	const struct iaprof_record_kernel *kernel = NULL;
	if (record->type == IAPROF_RECORD_KERNEL) {
		kernel = (const void *)record;
	} else if (record->type == IAPROF_RECORD_CALL) {
		needs.stack = ((const struct iaprof_record_call *)record)->user_stack;
	} else if (record->type == IAPROF_RECORD_LAUNCH) {
		const struct iaprof_record_launch *launch = (const void *)record;
		needs.stack = launch->user_stack;
		kernel = definitions_find(definitions, IAPROF_RECORD_KERNEL, record->source, launch->kernel);
	} else if (record->type == IAPROF_RECORD_JOB && iaprof_record_job_has_kernel((const void *)record)) {
		const struct iaprof_record_job *job = (const void *)record;
		kernel = definitions_find(definitions, IAPROF_RECORD_KERNEL, record->source, job->kernel);
	}
	if (kernel) {
		needs.code_object = kernel->code_object;
		needs.name = kernel->name;
	}
	return needs;
}

/* Returns whether the row is complete. */
static bool is_ready(const struct definitions *definitions, const struct waiting_event *needs, uint16_t source)
{
	return (!needs->stack || definitions_find(definitions, IAPROF_RECORD_STACK_FRAMES, 0, needs->stack)) &&
	       (!needs->code_object || definitions_find_function(definitions, source, needs->code_object, needs->name));
}

/* Returns whether a row depends on a record. */
static bool depends_on(const struct waiting_event *waiting, const struct iaprof_record *record)
{
	if (record->type == IAPROF_RECORD_STACK_FRAMES)
		return waiting->stack == ((const struct iaprof_record_stack_frames *)record)->stack;
	const struct iaprof_record_code_function *function = (const void *)record;
	return record->type == IAPROF_RECORD_CODE_FUNCTION && waiting->record->source == record->source &&
	       waiting->code_object == function->code_object && waiting->name == function->name;
}

static int write_waiting(const struct event *event, const struct waiting_event *waiting)
{
	struct event own = *event;
	own.record = waiting->record;
	return event_write(&own);
}

static void waiting_free(struct waiting_event *waiting)
{
	free(waiting->record);
	free(waiting);
}

/* Writes in order the rows completed by event->record (NULL: all) and those before a time. */
static int write_some(struct event_queue *queue, const struct event *event, uint64_t before)
{
	int result = 0;
	queue->last = &queue->first;
	for (struct waiting_event *waiting; (waiting = *queue->last);) {
		bool is_due = !event->record || waiting->record->time < before ||
			      (depends_on(waiting, event->record) &&
			       is_ready(event->definitions, waiting, waiting->record->source));
		if (result || !is_due) {
			queue->last = &waiting->next;
			continue;
		}
		result = write_waiting(event, waiting);
		*queue->last = waiting->next;
		queue->count--;
		waiting_free(waiting);
	}
	return result;
}

static int queue_event(struct event_queue *queue, const struct event *event, const struct waiting_event *needs)
{
	int result = 0;
	if (queue->count >= WAITING_COUNT_MAX) {
		struct waiting_event *oldest = queue->first;
		result = write_waiting(event, oldest);
		queue->first = oldest->next;
		queue->count--;
		waiting_free(oldest);
	}
	struct waiting_event *waiting = malloc(sizeof *waiting);
	struct iaprof_record *copy = malloc(event->record->size);
	if (!waiting || !copy) {
		free(waiting);
		free(copy);
		return event->host->fail(event->host, ENOMEM, "out of memory for events");
	}
	memcpy(copy, event->record, event->record->size);
	*waiting = *needs;
	waiting->record = copy;
	if (!queue->first)
		queue->last = &queue->first;
	*queue->last = waiting;
	queue->last = &waiting->next;
	queue->count++;
	return result;
}

int event_queue_take(struct event_queue *queue, struct event *event, struct definitions *definitions)
{
	const struct iaprof_record *record = event->record;
	int result = definitions_take(definitions, record);
	if (result < 0)
		return event->host->fail(event->host, result, "out of memory for names of events");
	struct waiting_event needs = find_needs(definitions, record);
	if (!is_ready(definitions, &needs, record->source))
		return queue_event(queue, event, &needs);
	if (record->type == IAPROF_RECORD_SYNC && record->time > WAIT_AT_MOST)
		return write_some(queue, event, record->time - WAIT_AT_MOST);
	result = event_write(event);
	if (!result && (record->type == IAPROF_RECORD_STACK_FRAMES || record->type == IAPROF_RECORD_CODE_FUNCTION))
		result = write_some(queue, event, 0);
	return result;
}

int event_queue_finish(struct event_queue *queue, struct event *event)
{
	return write_some(queue, event, UINT64_MAX);
}

void event_queue_free(struct event_queue *queue)
{
	for (struct waiting_event *next; queue->first; queue->first = next) {
		next = queue->first->next;
		waiting_free(queue->first);
	}
}
