/* SPDX-License-Identifier: Apache-2.0 */
/* See timed_events.h. */
#include <errno.h>

#include "opencl_queries.h"
#include "opencl_queues.h"
#include "timed_events.h"
#include "tracer.h"

/* Of the events that a program waits for with one call; there is one for each queue, usually. */
#define AWAITED_MAX 64u

bool opencl_device_begin(struct timed_device *device)
{
	struct opencl_pci_bus pci;

	if (opencl_query(tracer.opencl.device_info, (uintptr_t)device->device, OPENCL_DEVICE_PCI_BUS, &pci, sizeof pci))
		device->address = timed_device_address(pci.domain, pci.bus, pci.device, pci.function);
	device->mask = UINT64_MAX;
	device->tick = 1;
	return tracer.opencl.timer;
}

struct timed_launch *opencl_launch_begin(uintptr_t queue, uintptr_t **event)
{
	void *device = NULL;

	if (!opencl_query(tracer.opencl.queue_info, queue, OPENCL_QUEUE_DEVICE, &device, sizeof device))
		return NULL;
	struct timed_launch *launch = timing_take(&tracer.timing, NULL, device, TIMED_OPENCL, (const void *)queue);
	if (!launch)
		return NULL;
	launch->is_programs = *event;
	launch->opencl_event = 0;
	launch->place = *event ? *event : &launch->opencl_event;
	*event = launch->place;
	return launch;
}

void opencl_launch_end(struct timed_launch *launch, bool is_enqueued)
{
	launch->opencl_event = is_enqueued ? *launch->place : 0;
	if (launch->opencl_event && launch->is_programs)
		tracer.opencl.event_retain((const struct opencl_object *)launch->opencl_event);
	if (launch->opencl_event)
		timing_add(&tracer.timing, launch);
	else
		timing_put_back(&tracer.timing, launch);
}

static bool event_query(uintptr_t event, enum opencl_query query, void *value, size_t size)
{
	return opencl_query(tracer.opencl.event_info, event, query, value, size);
}

enum event_state opencl_event_read(struct timed_launch *launch, struct time_stamps *stamps)
{
	int32_t status;

	if (!event_query(launch->opencl_event, OPENCL_EVENT_STATUS, &status, sizeof status))
		return EVENT_FAILED;
	if (status > OPENCL_COMPLETE)
		return EVENT_PENDING;
	return status == OPENCL_COMPLETE &&
			       opencl_query(tracer.opencl.event_times, launch->opencl_event, OPENCL_EVENT_START,
					    &stamps->begin, sizeof stamps->begin) &&
			       opencl_query(tracer.opencl.event_times, launch->opencl_event, OPENCL_EVENT_END,
					    &stamps->end, sizeof stamps->end)
		       ? EVENT_ENDED
		       : EVENT_FAILED;
}

bool opencl_clock_read(const struct timed_device *device, uint64_t *ticks)
{
	uint64_t host;

	return tracer.opencl.timer(device->device, ticks, &host) == OPENCL_SUCCESS;
}

void opencl_event_release(struct timed_launch *launch)
{
	tracer.opencl.event_release((const struct opencl_object *)launch->opencl_event);
}

void opencl_queue_awaited(uintptr_t queue, uint64_t since)
{
	timing_read_awaited(&tracer.timing, &(struct awaited){ .source = (const void *)queue, .before = since });
}

static void event_awaited(uintptr_t event)
{
	struct awaited awaited = { .event = event };
	uintptr_t queue;

	if (!event_query(event, OPENCL_EVENT_QUEUE, &queue, sizeof queue) || !queue)
		return;
	awaited.source = (const void *)queue;
	/* What precedes the command of an event without times is not known. */
	opencl_query(tracer.opencl.event_times, event, OPENCL_EVENT_QUEUED, &awaited.queued, sizeof awaited.queued);
	timing_read_awaited(&tracer.timing, &awaited);
}

void opencl_events_awaited(const uintptr_t *events, uint32_t count)
{
	for (uint32_t i = 0; timing_is_pending(&tracer.timing) && i < count && i < AWAITED_MAX; i++)
		event_awaited(events[i]);
}

void opencl_event_asked(const struct opencl_call *call)
{
	uintptr_t event = *(const uintptr_t *)call->arguments[0];
	uint32_t *value = *(uint32_t *const *)call->arguments[3];

	if (!call->is_exit || *(const int32_t *)call->result != OPENCL_SUCCESS || !value ||
	    !timing_is_pending(&tracer.timing))
		return;
	switch (*(const uint32_t *)call->arguments[1]) {
	case OPENCL_EVENT_REFERENCE_COUNT:
		*value -= timing_has_event(&tracer.timing, event);
		break;
	case OPENCL_EVENT_STATUS:
		if (*value == OPENCL_COMPLETE)
			event_awaited(event);
		break;
	default:
		break;
	}
}
