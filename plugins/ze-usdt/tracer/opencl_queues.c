/* SPDX-License-Identifier: Apache-2.0 */
/* See opencl_queues.h. */
#include "opencl_queues.h"

#include <stdlib.h>
#include <string.h>

#include "opencl_queries.h"
#include "tracer.h"

/* Names, values and the end: queues with more are left alone. */
#define PROPERTIES_MAX 21

struct opencl_queue {
	bool has_times;
	bool is_changed;                      /* the flag is the tracer's */
	size_t count;                         /* of the program's properties, with their end; 0: it passed none */
	uint64_t properties[PROPERTIES_MAX];  /* those */
	uint64_t changed[PROPERTIES_MAX + 2]; /* with the flag */
};

/*
 * With the registry's lock, which is also held across fork(). A queue that the program released is kept until another
 * one has its handle: events outlive it.
 */
static void queue_put(uintptr_t handle, struct opencl_queue *queue)
{
	registry_lock(&tracer.registry);
	struct opencl_queue *stale = pointer_map_remove(&tracer.opencl_queues, handle);
	if (queue && !pointer_map_add(&tracer.opencl_queues, handle, queue))
		free(queue);
	registry_unlock(&tracer.registry);
	free(stale);
}

/* Returns false if the queue is not known. */
static bool queue_get(uintptr_t handle, struct opencl_queue *queue)
{
	registry_lock(&tracer.registry);
	const struct opencl_queue *known = pointer_map_find(&tracer.opencl_queues, handle);
	if (known)
		*queue = *known;
	registry_unlock(&tracer.registry);
	return known;
}

static bool is_changed(uintptr_t handle, struct opencl_queue *queue)
{
	return queue_get(handle, queue) && queue->is_changed;
}

/* Queues with other properties, of which one makes queues for performance counters, are left alone. */
static bool is_usual(uint64_t name)
{
	switch (name) {
	case OPENCL_QUEUE_PROPERTIES:
	case OPENCL_QUEUE_PRIORITY:
	case OPENCL_QUEUE_THROTTLE:
	case OPENCL_QUEUE_FAMILY:
	case OPENCL_QUEUE_INDEX:
	case OPENCL_QUEUE_SLICES:
		return true;
	default:
		return false;
	}
}

/* Copies the properties, with the flag in one copy. Returns false if it cannot be added, or is there already. */
static bool properties_change(struct opencl_queue *queue, const uint64_t *properties)
{
	uint64_t *flags = NULL;
	size_t count = 0;

	for (; properties && properties[count]; count += 2) {
		if (count + 3 > PROPERTIES_MAX || !is_usual(properties[count]))
			return false;
		memcpy(queue->changed + count, properties + count, 2 * sizeof *properties);
		if (!flags && properties[count] == OPENCL_QUEUE_PROPERTIES)
			flags = &queue->changed[count + 1];
	}
	memcpy(queue->properties, queue->changed, count * sizeof *properties);
	queue->count = properties ? count + 1 : 0;
	if (!flags) {
		queue->changed[count] = OPENCL_QUEUE_PROPERTIES;
		flags = &queue->changed[count + 1];
	}
	if (*flags & ~OPENCL_OUT_OF_ORDER)
		return false;
	*flags |= OPENCL_PROFILING;
	return true;
}

void opencl_queue_creating(enum opencl_function function, const struct opencl_call *call)
{
	bool has_list = function != OPENCL_CREATE_QUEUE;

	/* A queue for performance counters has times, which the program requested. */
	*call->data = 0;
	if (function == OPENCL_CREATE_COUNTER_QUEUE)
		return;
	const uint64_t *list = has_list ? *(const uint64_t *const *)call->arguments[2] : NULL;
	const uint64_t flags[] = { OPENCL_QUEUE_PROPERTIES, has_list ? 0 : *(const uint64_t *)call->arguments[2], 0 };
	struct opencl_queue *queue = timing_is_on() ? calloc(1, sizeof *queue) : NULL;
	if (!queue || !properties_change(queue, has_list ? list : flags)) {
		free(queue);
		return;
	}
	if (has_list)
		*(const uint64_t **)call->arguments[2] = queue->changed;
	else
		*(uint64_t *)call->arguments[2] = queue->changed[1];
	*call->data = (uintptr_t)queue;
}

static bool has_flag(uintptr_t handle)
{
	uint64_t flags;

	return opencl_query(tracer.opencl.queue_info, handle, OPENCL_QUEUE_PROPERTIES, &flags, sizeof flags) &&
	       (flags & OPENCL_PROFILING);
}

void opencl_queue_created(const struct opencl_call *call)
{
	struct opencl_queue *queue = (struct opencl_queue *)*call->data;
	uintptr_t handle = *(const uintptr_t *)call->result;

	/* A driver may have read its argument before it could be changed. */
	if (queue && (!handle || !has_flag(handle))) {
		free(queue);
		queue = NULL;
	}
	if (queue)
		queue->has_times = queue->is_changed = true;
	if (handle)
		queue_put(handle, queue);
}

bool opencl_queue_has_times(uintptr_t handle)
{
	struct opencl_queue known;

	if (queue_get(handle, &known))
		return known.has_times;
	struct opencl_queue *queue = calloc(1, sizeof *queue);
	if (!queue)
		return false;
	bool has_times = queue->has_times = has_flag(handle);
	queue_put(handle, queue);
	return has_times;
}

/* Answers as the driver does. */
static int32_t properties_answer(const struct opencl_queue *queue, const struct opencl_call *call)
{
	size_t room = *(const size_t *)call->arguments[2], size = queue->count * sizeof *queue->properties;
	void *value = *(void *const *)call->arguments[3];
	size_t *size_returned = *(size_t *const *)call->arguments[4];

	if (value && room < size)
		return OPENCL_INVALID_VALUE;
	if (value)
		memcpy(value, queue->properties, size);
	if (size_returned)
		*size_returned = size;
	return OPENCL_SUCCESS;
}

/* The driver is asked for nothing instead, because its answer is longer. */
void opencl_queue_asked(const struct opencl_call *call)
{
	uint32_t *query = (uint32_t *)call->arguments[1];
	uint64_t *flags = *(uint64_t *const *)call->arguments[3];
	struct opencl_queue queue;

	if (!call->is_exit) {
		*call->data = (*query == OPENCL_QUEUE_PROPERTIES || *query == OPENCL_QUEUE_PROPERTIES_ARRAY) &&
					      is_changed(*(const uintptr_t *)call->arguments[0], &queue)
				      ? *query
				      : 0;
		*query = *call->data == OPENCL_QUEUE_PROPERTIES_ARRAY ? 0 : *query;
	} else if (*call->data && is_changed(*(const uintptr_t *)call->arguments[0], &queue)) {
		if (*call->data == OPENCL_QUEUE_PROPERTIES_ARRAY)
			*(int32_t *)call->result = properties_answer(&queue, call);
		else if (*(const int32_t *)call->result == OPENCL_SUCCESS && flags)
			*flags &= ~OPENCL_PROFILING;
	}
}

/* The driver is asked for nothing instead: it writes nothing. */
void opencl_times_asked(const struct opencl_call *call)
{
	uintptr_t event = *(const uintptr_t *)call->arguments[0], handle = 0;
	struct opencl_queue queue;

	if (!call->is_exit) {
		*call->data =
			opencl_query(tracer.opencl.event_info, event, OPENCL_EVENT_QUEUE, &handle, sizeof handle) &&
			is_changed(handle, &queue);
		if (*call->data)
			*(uint32_t *)call->arguments[1] = 0;
	} else if (*call->data) {
		*(int32_t *)call->result = OPENCL_PROFILING_INFO_NOT_AVAILABLE;
	}
}
