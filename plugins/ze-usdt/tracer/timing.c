/* SPDX-License-Identifier: Apache-2.0 */
/* See timing.h. */
#include "timing.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "tracer.h"

/* Aim of the time between two timed launches of a kernel: 100 a second show its mean to a percent or two in ten
 * seconds. */
#define TARGET_TIME UINT64_C(10000000) /* ns */

/* Timed launches of a thread in that time, above which fewer of each kernel are: each takes it some microseconds. */
#define THREAD_MAX 50u

#define PERIOD_MAX 1024u

/* The clocks of host and device are compared so often: they drift apart by some microseconds a second. */
#define CLOCKS_TIME UINT64_C(100000000) /* ns */

/* Launches that are checked at each that is timed: more than one, so that the number of pending ones falls. */
#define CHECKS 8u

struct timed_launch {
	struct timed_launch *next_unused;
	struct timed_device *device;
	ze_event_handle_t event;
	ze_event_handle_t marker; /* signalled after the event, without a time stamp; NULL: of a pool */
	ze_command_list_handle_t list;
	ze_event_handle_t *argument; /* of the call; NULL after it */
	uint64_t number;
	uint64_t appended; /* CLOCK_MONOTONIC, ns */
};

static uint64_t now(void)
{
	struct timespec time = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* pthread_mutex_trylock() of the C library for which the tracer is built is newer than the oldest supported one. */
static bool lock_try(struct timing *timing)
{
	return !atomic_exchange_explicit(&timing->locked, true, memory_order_acquire);
}

static void lock(struct timing *timing)
{
	while (!lock_try(timing))
		sched_yield();
}

static void unlock(struct timing *timing)
{
	atomic_store_explicit(&timing->locked, false, memory_order_release);
}

/* Returns a random number below a limit: xorshift64. */
static uint64_t random_below(uint64_t *state, uint32_t limit)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (*state >> 32) % limit;
}

/* Returns whether the thread has too many timed launches. */
static bool is_busy(struct timing_thread *thread, uint64_t time)
{
	if (time - thread->begin > TARGET_TIME) {
		thread->begin = time;
		thread->count = 0;
	}
	return ++thread->count > THREAD_MAX;
}

/*
 * Each launch is chosen with the same probability, 1 / period, which changes slowly: a choice by time would prefer
 * launches after long ones, or the first ones after a pause.
 */
bool timing_chooses(struct timing_thread *thread, struct kernel *kernel)
{
	uint64_t time = now(), since = time - atomic_load_explicit(&kernel->timed, memory_order_relaxed);
	uint32_t period = atomic_load_explicit(&kernel->period, memory_order_relaxed);

	if (level_zero_time_all_semaphore > 0)
		return true;
	if (!thread->random)
		thread->random = time ^ (uintptr_t)thread;
	period = period ? period : 1;
	if (since > 5 * TARGET_TIME && period > 1)
		period /= 2;
	bool is_chosen = random_below(&thread->random, period) == 0;
	if (is_chosen) {
		if (is_busy(thread, time) || since < TARGET_TIME)
			period = period < PERIOD_MAX ? 2 * period : PERIOD_MAX;
		else
			period = period > 1 ? period / 2 : 1;
		atomic_store_explicit(&kernel->timed, time, memory_order_relaxed);
	}
	atomic_store_explicit(&kernel->period, period, memory_order_relaxed);
	return is_chosen;
}

static void address_find(const struct level_zero *calls, struct timed_device *device)
{
	ze_pci_ext_properties_t pci = { .stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES };

	if (calls->zeDevicePciGetPropertiesExt &&
	    calls->zeDevicePciGetPropertiesExt(device->device, &pci) == ZE_RESULT_SUCCESS)
		device->address = ZE_DEVICE_KNOWN | (uint64_t)pci.address.domain << 16 | (pci.address.bus & 0xff) << 8 |
				  (pci.address.device & 0x1f) << 3 | (pci.address.function & 7);
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

static bool calls_exist(const struct level_zero *calls)
{
	return calls->zeCommandListGetDeviceHandle && calls->zeCommandListAppendSignalEvent &&
	       calls->zeDeviceGetProperties && calls->zeDeviceGetGlobalTimestamps && calls->zeEventPoolCreate &&
	       calls->zeEventPoolDestroy && calls->zeEventCreate && calls->zeEventDestroy && calls->zeEventHostReset &&
	       calls->zeEventQueryStatus && calls->zeEventQueryKernelTimestamp;
}

static void device_begin(struct timed_device *device, ze_context_handle_t context, ze_device_handle_t handle,
			 bool counter_based)
{
	*device = (struct timed_device){ .context = context, .device = handle, .counter_based = counter_based };
	device->failed = !clock_find(&tracer.calls, device);
	address_find(&tracer.calls, device);
}

/* Returns the device of a list, or NULL. With the lock. */
static struct timed_device *device_find(struct timing *timing, const struct list *list, ze_command_list_handle_t handle)
{
	const struct level_zero *calls = &tracer.calls;
	bool counter_based = atomic_load_explicit(&list->in_order, memory_order_relaxed);
	ze_context_handle_t context = (ze_context_handle_t)atomic_load_explicit(&list->context, memory_order_relaxed);
	struct timed_device *unused = NULL;
	ze_device_handle_t device;

	/* How a list executes is not known if it was created before the tracer was loaded. */
	if (!context || !calls_exist(calls) || (counter_based && !calls->zeEventCounterBasedCreate) ||
	    calls->zeCommandListGetDeviceHandle(handle, &device) != ZE_RESULT_SUCCESS)
		return NULL;
	for (unsigned i = 0; i < TIMED_DEVICES_MAX; i++) {
		struct timed_device *known = &timing->devices[i];

		if (known->context == context && known->device == device && known->counter_based == counter_based)
			return known->failed ? NULL : known;
		if (!known->context)
			unused = known;
	}
	if (unused)
		device_begin(unused, context, device, counter_based);
	return unused && !unused->failed ? unused : NULL;
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
	ze_event_pool_handle_t *pool = &device->pools[device->pool_events / TIMED_POOL_EVENTS];

	if (device->pool_events == pools * TIMED_POOL_EVENTS ||
	    (!*pool && tracer.calls.zeEventPoolCreate(device->context, &description, 1, &device->device, pool) !=
			       ZE_RESULT_SUCCESS))
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

static bool events_create(struct timed_device *device, struct timed_launch *launch)
{
	if (!device->counter_based)
		return pool_event_create(device, &launch->event);
	return counter_based_create(device, 0, 0, &launch->marker) &&
	       counter_based_create(device, COUNTER_BASED_DEVICE_TIMESTAMP, ZE_EVENT_SCOPE_FLAG_HOST, &launch->event);
}

/* Returns a launch whose event is not in use; NULL: there are too many. With the lock. */
static struct timed_launch *launch_take(struct timing *timing, struct timed_device *device)
{
	struct timed_launch *launch = device->unused;

	if (launch) {
		device->unused = launch->next_unused;
		return launch;
	}
	if (!timing->launches)
		timing->launches = calloc(TIMED_LAUNCHES_MAX, sizeof *timing->launches);
	if (timing->made == TIMED_LAUNCHES_MAX || !timing->launches)
		return NULL;
	launch = calloc(1, sizeof *launch);
	if (!launch)
		return NULL;
	if (!events_create(device, launch)) {
		device->failed = true;
		free(launch);
		return NULL;
	}
	launch->device = device;
	timing->made++;
	return launch;
}

struct timed_launch *timing_begin(struct timing *timing, struct list *list, ze_command_list_handle_t handle,
				  ze_event_handle_t *event)
{
	timing_read(timing, CHECKS);
	if (!lock_try(timing))
		return NULL;
	struct timed_device *device = device_find(timing, list, handle);
	struct timed_launch *launch = device ? launch_take(timing, device) : NULL;
	unlock(timing);
	if (!launch)
		return NULL;
	launch->number = atomic_fetch_add_explicit(&timing->last, 1, memory_order_relaxed) + 1;
	launch->appended = now();
	launch->list = handle;
	launch->argument = event;
	*event = launch->event;
	return launch;
}

uint64_t timing_number(const struct timed_launch *launch)
{
	return launch->number;
}

/* An event whose launch failed, or that nothing follows, is never used again. */
void timing_end(struct timing *timing, struct timed_launch *launch, bool is_appended)
{
	*launch->argument = NULL;
	launch->argument = NULL;
	if (!is_appended || (launch->marker && tracer.calls.zeCommandListAppendSignalEvent(
						       launch->list, launch->marker) != ZE_RESULT_SUCCESS))
		return;
	lock(timing);
	uint32_t pending = atomic_load_explicit(&timing->pending, memory_order_relaxed);
	timing->launches[pending] = launch;
	atomic_store_explicit(&timing->pending, pending + 1, memory_order_relaxed);
	unlock(timing);
}

/* Compares the clocks. Returns whether that has ever been possible. */
static bool clocks_compare(struct timed_device *device)
{
	uint64_t before = now(), host, ticks;

	if (device->host && before - device->host < CLOCKS_TIME)
		return true;
	if (tracer.calls.zeDeviceGetGlobalTimestamps(device->device, &host, &ticks) != ZE_RESULT_SUCCESS)
		return device->host;
	device->host = before + (now() - before) / 2;
	device->ticks = ticks;
	return true;
}

/* Returns the time of the host at a time stamp, at most half of the clock's range before or after the comparison. */
static uint64_t host_time(const struct timed_device *device, uint64_t stamp)
{
	uint64_t ticks = (stamp - device->ticks) & device->mask;
	bool is_before = ticks > device->mask / 2;

	if (is_before)
		return device->host - (uint64_t)((double)((device->ticks - stamp) & device->mask) * device->tick);
	return device->host + (uint64_t)((double)ticks * device->tick);
}

/* A driver that wrote no time stamps leaves what was there before. */
static bool is_plausible(const struct timed_launch *launch, uint64_t begin, uint64_t end)
{
	return begin < end && begin + CLOCKS_TIME > launch->appended && end < now() + CLOCKS_TIME;
}

static void launch_report_time(const struct timed_launch *launch, const ze_kernel_timestamp_result_t *stamps)
{
	struct timed_device *device = launch->device;
	uint64_t begin = 0, end = 0;

	if (stamps && clocks_compare(device)) {
		/* The global clock also runs while the launch is preempted. */
		begin = host_time(device, stamps->global.kernelStart);
		end = begin +
		      (uint64_t)((double)((stamps->global.kernelEnd - stamps->global.kernelStart) & device->mask) *
				 device->tick);
	}
	if (!begin || !is_plausible(launch, begin, end))
		begin = end = 0;
	if (timing_is_on())
		probe_kernel_time(launch->number, begin, end, device->address);
}

/*
 * Returns whether a launch is no longer pending. Intel's driver waits up to five seconds when it is asked for the
 * status of a counter-based event with a time stamp that has not happened (synchronizeTimestampCompletionWithTimeout()
 * in compute-runtime 26.27): the marker is asked for, which the list signals later.
 */
static bool launch_read(struct timed_launch *launch)
{
	struct timed_device *device = launch->device;
	ze_kernel_timestamp_result_t stamps;
	ze_result_t result = device->failed
				     ? ZE_RESULT_ERROR_DEVICE_LOST
				     : tracer.calls.zeEventQueryStatus(launch->marker ? launch->marker : launch->event);

	if (result == ZE_RESULT_SUCCESS)
		result = tracer.calls.zeEventQueryKernelTimestamp(launch->event, &stamps);
	if (result == ZE_RESULT_NOT_READY)
		return false;
	launch_report_time(launch, result == ZE_RESULT_SUCCESS ? &stamps : NULL);
	if (result == ZE_RESULT_SUCCESS && !device->counter_based)
		result = tracer.calls.zeEventHostReset(launch->event);
	device->failed |= result != ZE_RESULT_SUCCESS;
	launch->next_unused = device->unused;
	device->unused = launch;
	return true;
}

/* With the lock. */
static void pending_read(struct timing *timing, uint32_t count)
{
	uint32_t pending = atomic_load_explicit(&timing->pending, memory_order_relaxed);

	for (uint32_t i = 0; i < count && pending; i++) {
		timing->next = timing->next < pending ? timing->next : 0;
		if (launch_read(timing->launches[timing->next]))
			timing->launches[timing->next] = timing->launches[--pending];
		else
			timing->next++;
	}
	atomic_store_explicit(&timing->pending, pending, memory_order_relaxed);
}

void timing_read(struct timing *timing, uint32_t count)
{
	int error = errno;
	uint32_t pending = atomic_load_explicit(&timing->pending, memory_order_relaxed);

	if (!pending || !lock_try(timing))
		return;
	pending_read(timing, count < pending ? count : pending);
	unlock(timing);
	errno = error;
}

/*
 * Events must not be touched when the list that signals them is gone: Intel's driver writes into its queue
 * (Event::unsetCmdQueue() in compute-runtime 26.27). A program may destroy a list only when its commands have ended.
 */
void timing_end_list(struct timing *timing, ze_command_list_handle_t list)
{
	int error = errno;

	if (!atomic_load_explicit(&timing->pending, memory_order_relaxed))
		return;
	lock(timing);
	pending_read(timing, TIMED_LAUNCHES_MAX);
	uint32_t pending = atomic_load_explicit(&timing->pending, memory_order_relaxed);
	for (uint32_t i = 0; i < pending; i++)
		if (timing->launches[i]->list == list) {
			launch_report_time(timing->launches[i], NULL);
			timing->launches[i--] = timing->launches[--pending]; /* its event is never used again */
		}
	atomic_store_explicit(&timing->pending, pending, memory_order_relaxed);
	unlock(timing);
	errno = error;
}

/* The launches of a device that is about to end have ended: what is still pending is not read. */
static void device_end(struct timing *timing, struct timed_device *device)
{
	uint32_t pending = atomic_load_explicit(&timing->pending, memory_order_relaxed);

	for (uint32_t i = 0; i < pending; i++)
		if (timing->launches[i]->device == device) {
			timing->launches[i]->next_unused = device->unused;
			device->unused = timing->launches[i];
			timing->launches[i--] = timing->launches[--pending];
		}
	atomic_store_explicit(&timing->pending, pending, memory_order_relaxed);
	while (device->unused) {
		struct timed_launch *launch = device->unused;

		device->unused = launch->next_unused;
		tracer.calls.zeEventDestroy(launch->event);
		if (launch->marker)
			tracer.calls.zeEventDestroy(launch->marker);
		free(launch);
		timing->made--;
	}
	for (uint32_t i = 0; i * TIMED_POOL_EVENTS < device->pool_events; i++)
		tracer.calls.zeEventPoolDestroy(device->pools[i]);
	*device = (struct timed_device){ 0 };
}

void timing_end_context(struct timing *timing, ze_context_handle_t context)
{
	int error = errno;

	lock(timing);
	pending_read(timing, TIMED_LAUNCHES_MAX);
	for (unsigned i = 0; i < TIMED_DEVICES_MAX; i++)
		if (timing->devices[i].context && timing->devices[i].context == context)
			device_end(timing, &timing->devices[i]);
	unlock(timing);
	errno = error;
}

void timing_forked(struct timing *timing)
{
	*timing = (struct timing){ 0 };
}
