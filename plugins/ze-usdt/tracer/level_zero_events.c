/* SPDX-License-Identifier: Apache-2.0 */
/* See timed_events.h. */
#include "timed_events.h"
#include "tracer.h"

/* Launches that are checked at each that is timed: more than one, so that the number of pending ones falls. */
#define CHECKS 8u

static void address_find(const struct level_zero *calls, struct timed_device *device)
{
	ze_pci_ext_properties_t pci = { .stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES };

	if (calls->zeDevicePciGetPropertiesExt &&
	    calls->zeDevicePciGetPropertiesExt(device->device, &pci) == ZE_RESULT_SUCCESS)
		device->address = timed_device_address(pci.address.domain, pci.address.bus, pci.address.device,
						       pci.address.function);
}

static bool clock_find(const struct level_zero *calls, struct timed_device *device)
{
	ze_device_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 };

	if (calls->zeDeviceGetProperties(device->device, &properties) != ZE_RESULT_SUCCESS ||
	    !properties.timerResolution || !properties.kernelTimestampValidBits)
		return false;
	uint32_t bits = properties.kernelTimestampValidBits;
	if (properties.timestampValidBits && properties.timestampValidBits < bits)
		bits = properties.timestampValidBits;
	device->mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
	device->tick = 1e9 / (double)properties.timerResolution; /* cycles per second */
	return true;
}

bool level_zero_device_begin(struct timed_device *device)
{
	address_find(&tracer.calls, device);
	return clock_find(&tracer.calls, device);
}

static bool pool_event_create(struct timed_device *device, ze_event_handle_t *event)
{
	const ze_event_pool_desc_t description = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
						   .flags = ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP |
							    ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
						   .count = TIMED_POOL_EVENTS };
	const ze_event_desc_t event_description = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
						    .index = device->pool_events % TIMED_POOL_EVENTS,
						    .signal = ZE_EVENT_SCOPE_FLAG_HOST,
						    .wait = ZE_EVENT_SCOPE_FLAG_HOST };
	uint32_t pools = sizeof device->pools / sizeof *device->pools;
	ze_device_handle_t handle = device->device;
	ze_event_pool_handle_t *pool = &device->pools[device->pool_events / TIMED_POOL_EVENTS];

	if (device->pool_events == pools * TIMED_POOL_EVENTS ||
	    (!*pool &&
	     tracer.calls.zeEventPoolCreate(device->context, &description, 1, &handle, pool) != ZE_RESULT_SUCCESS))
		return false;
	device->pool_events++;
	return tracer.calls.zeEventCreate(*pool, &event_description, event) == ZE_RESULT_SUCCESS;
}

static bool counter_based_create(const struct timed_device *device, uint32_t flags, uint32_t scope,
				 ze_event_handle_t *event)
{
	const struct counter_based_event_description description = { .type = STRUCTURE_COUNTER_BASED_EVENT,
								     .flags = COUNTER_BASED_IMMEDIATE |
									      COUNTER_BASED_HOST_VISIBLE | flags,
								     .signal = scope,
								     .wait = scope };

	return tracer.calls.zeEventCounterBasedCreate(device->context, device->device, &description, event) ==
	       ZE_RESULT_SUCCESS;
}

bool level_zero_events_create(struct timed_device *device, struct timed_launch *launch)
{
	if (device->kind == TIMED_POOL)
		return pool_event_create(device, &launch->event);
	return counter_based_create(device, 0, 0, &launch->marker) &&
	       counter_based_create(device, COUNTER_BASED_DEVICE_TIMESTAMP, ZE_EVENT_SCOPE_FLAG_HOST, &launch->event);
}

static bool calls_exist(const struct level_zero *calls)
{
	return calls->zeCommandListGetDeviceHandle && calls->zeCommandListAppendSignalEvent &&
	       calls->zeDeviceGetProperties && calls->zeDeviceGetGlobalTimestamps && calls->zeEventPoolCreate &&
	       calls->zeEventPoolDestroy && calls->zeEventCreate && calls->zeEventDestroy && calls->zeEventHostReset &&
	       calls->zeEventQueryStatus && calls->zeEventQueryKernelTimestamp;
}

struct timed_launch *level_zero_launch_begin(const struct list *list, ze_command_list_handle_t handle,
					     ze_event_handle_t *event)
{
	const struct level_zero *calls = &tracer.calls;
	bool in_order = atomic_load_explicit(&list->in_order, memory_order_relaxed);
	void *context = (void *)atomic_load_explicit(&list->context, memory_order_relaxed);
	ze_device_handle_t device;

	timing_read(&tracer.timing, CHECKS);
	/* How a list executes is not known if it was created before the tracer was loaded. */
	if (!context || !calls_exist(calls) || (in_order && !calls->zeEventCounterBasedCreate) ||
	    calls->zeCommandListGetDeviceHandle(handle, &device) != ZE_RESULT_SUCCESS)
		return NULL;
	struct timed_launch *launch =
		timing_take(&tracer.timing, context, device, in_order ? TIMED_COUNTER_BASED : TIMED_POOL, handle);
	if (!launch)
		return NULL;
	launch->argument = event;
	*event = launch->event;
	return launch;
}

/* An event whose launch failed, or that nothing follows, is never used again. */
void level_zero_launch_end(struct timed_launch *launch, bool is_appended)
{
	*launch->argument = NULL;
	launch->argument = NULL;
	if (is_appended &&
	    (!launch->marker || tracer.calls.zeCommandListAppendSignalEvent((ze_command_list_handle_t)launch->source,
									    launch->marker) == ZE_RESULT_SUCCESS))
		timing_add(&tracer.timing, launch);
}

/*
 * Intel's driver waits up to five seconds when it is asked for the status of a counter-based event with a time stamp
 * that has not happened (synchronizeTimestampCompletionWithTimeout() in compute-runtime 26.27): the marker is asked
 * for, which the list signals later.
 */
enum event_state level_zero_event_read(struct timed_launch *launch, struct time_stamps *stamps)
{
	struct timed_device *device = launch->device;
	ze_kernel_timestamp_result_t read = { 0 };
	ze_result_t result = device->failed
				     ? ZE_RESULT_ERROR_DEVICE_LOST
				     : tracer.calls.zeEventQueryStatus(launch->marker ? launch->marker : launch->event);

	if (result == ZE_RESULT_SUCCESS)
		result = tracer.calls.zeEventQueryKernelTimestamp(launch->event, &read);
	if (result == ZE_RESULT_NOT_READY)
		return EVENT_PENDING;
	/* The global clock also runs while the launch is preempted. */
	*stamps = (struct time_stamps){ read.global.kernelStart, read.global.kernelEnd };
	enum event_state state = result == ZE_RESULT_SUCCESS ? EVENT_ENDED : EVENT_FAILED;
	if (result == ZE_RESULT_SUCCESS && device->kind == TIMED_POOL)
		result = tracer.calls.zeEventHostReset(launch->event);
	device->failed |= result != ZE_RESULT_SUCCESS;
	return state;
}

bool level_zero_clock_read(const struct timed_device *device, uint64_t *ticks)
{
	uint64_t host;

	return tracer.calls.zeDeviceGetGlobalTimestamps(device->device, &host, ticks) == ZE_RESULT_SUCCESS;
}

void level_zero_event_destroy(struct timed_launch *launch)
{
	tracer.calls.zeEventDestroy(launch->event);
	if (launch->marker)
		tracer.calls.zeEventDestroy(launch->marker);
}

void level_zero_pools_destroy(struct timed_device *device)
{
	for (uint32_t i = 0; i * TIMED_POOL_EVENTS < device->pool_events; i++)
		tracer.calls.zeEventPoolDestroy(device->pools[i]);
}
