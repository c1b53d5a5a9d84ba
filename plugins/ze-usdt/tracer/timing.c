/* SPDX-License-Identifier: Apache-2.0 */
/* See timing.h. */
#include "timing.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "timed_events.h"

/* Aim of the time between two timed launches of a kernel: 100 a second show its mean to a percent or two in ten
 * seconds. */
#define TARGET_TIME UINT64_C(10000000) /* ns */

/* Timed launches of a thread in that time, above which fewer of each kernel are: each takes it some microseconds. */
#define THREAD_MAX 50u

#define PERIOD_MAX 1024u

/* The clocks of host and device are compared so often: they drift apart by some microseconds a second. */
#define CLOCKS_TIME UINT64_C(100000000) /* ns */

uint64_t timing_now(void)
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
	uint64_t time = timing_now(), since = time - atomic_load_explicit(&kernel->timed, memory_order_relaxed);
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

static bool is_opencl(const struct timed_device *device)
{
	return device->kind == TIMED_OPENCL;
}

/* Returns the device, or NULL. With the lock. */
static struct timed_device *device_find(struct timing *timing, void *context, void *device, enum timed_kind kind)
{
	struct timed_device *unused = NULL;

	for (unsigned i = 0; i < TIMED_DEVICES_MAX; i++) {
		struct timed_device *known = &timing->devices[i];

		if (known->device == device && known->context == context && known->kind == kind)
			return known->failed ? NULL : known;
		if (!known->device)
			unused = known;
	}
	if (!unused)
		return NULL;
	*unused = (struct timed_device){ .kind = kind, .context = context, .device = device };
	unused->failed = !(is_opencl(unused) ? opencl_device_begin(unused) : level_zero_device_begin(unused));
	return unused->failed ? NULL : unused;
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
	if (!is_opencl(device) && !level_zero_events_create(device, launch)) {
		device->failed = true;
		free(launch);
		return NULL;
	}
	launch->device = device;
	timing->made++;
	return launch;
}

struct timed_launch *timing_take(struct timing *timing, void *context, void *handle, enum timed_kind kind,
				 const void *source)
{
	/* As timing_add() does: it is held for some microseconds. */
	if (level_zero_time_all_semaphore > 0)
		lock(timing);
	else if (!lock_try(timing))
		return NULL;
	struct timed_device *device = device_find(timing, context, handle, kind);
	struct timed_launch *launch = device ? launch_take(timing, device) : NULL;
	unlock(timing);
	if (!launch)
		return NULL;
	launch->number = atomic_fetch_add_explicit(&timing->last, 1, memory_order_relaxed) + 1;
	launch->appended = timing_now();
	launch->source = source;
	return launch;
}

void timing_add(struct timing *timing, struct timed_launch *launch)
{
	launch->returned = timing_now();
	lock(timing);
	uint32_t pending = atomic_load_explicit(&timing->pending, memory_order_relaxed);
	timing->launches[pending] = launch;
	atomic_store_explicit(&timing->pending, pending + 1, memory_order_relaxed);
	unlock(timing);
}

/* With the lock. */
static void launch_put_back(struct timed_launch *launch)
{
	launch->next_unused = launch->device->unused;
	launch->device->unused = launch;
}

void timing_put_back(struct timing *timing, struct timed_launch *launch)
{
	lock(timing);
	launch_put_back(launch);
	unlock(timing);
}

/* Compares the clocks. Returns whether that has ever been possible. */
static bool clocks_compare(struct timed_device *device)
{
	uint64_t before = timing_now(), ticks;

	if (device->host && before - device->host < CLOCKS_TIME)
		return true;
	if (!(is_opencl(device) ? opencl_clock_read(device, &ticks) : level_zero_clock_read(device, &ticks)))
		return device->host;
	device->host_error = (timing_now() - before) / 2;
	device->host = before + device->host_error;
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
	return begin < end && begin + CLOCKS_TIME > launch->appended && end < timing_now() + CLOCKS_TIME;
}

static void launch_report_time(const struct timed_launch *launch, const struct time_stamps *stamps)
{
	struct timed_device *device = launch->device;
	uint64_t begin = 0, end = 0;

	if (stamps && clocks_compare(device)) {
		begin = host_time(device, stamps->begin);
		end = begin + (uint64_t)((double)((stamps->end - stamps->begin) & device->mask) * device->tick);
	}
	/*
	 * Intel's driver does not convert the times of a launch that, as it compared the clocks, began before it was
	 * submitted (calculateProfilingData() in compute-runtime of August 2026): it began then.
	 */
	if (is_opencl(device) && begin < end && !is_plausible(launch, begin, end)) {
		end = launch->appended + (end - begin);
		begin = launch->appended;
	}
	if (!begin || !is_plausible(launch, begin, end))
		begin = end = 0;
	if (timing_is_on())
		probe_kernel_time(launch->number, begin, end, device->address);
}

/* Returns whether a launch is no longer pending. */
static bool launch_read(struct timed_launch *launch)
{
	struct time_stamps stamps;
	bool opencl = is_opencl(launch->device);
	enum event_state state = opencl ? opencl_event_read(launch, &stamps) : level_zero_event_read(launch, &stamps);

	if (state == EVENT_PENDING)
		return false;
	launch_report_time(launch, state == EVENT_ENDED ? &stamps : NULL);
	if (opencl)
		opencl_event_release(launch);
	launch_put_back(launch);
	return true;
}

/*
 * Events of Level Zero must not be touched when the list that signals them is gone: Intel's driver writes into its
 * queue (Event::unsetCmdQueue() in compute-runtime 26.27).
 */
static void launch_forget(struct timed_launch *launch)
{
	launch_report_time(launch, NULL);
	if (!is_opencl(launch->device))
		return; /* never used again */
	opencl_event_release(launch);
	launch_put_back(launch);
}

/* With the lock. */
static void pending_read(struct timing *timing, uint32_t count)
{
	uint32_t pending = atomic_load_explicit(&timing->pending, memory_order_relaxed);

	for (uint32_t i = 0; i < count && pending; i++) {
		timing->next = timing->next < pending ? timing->next : 0;
		if (!is_opencl(timing->launches[timing->next]->device) && launch_read(timing->launches[timing->next]))
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

/* Removes the pending launches for which a function returns true. */
static void pending_visit(struct timing *timing, bool (*visit)(struct timed_launch *launch, const void *argument),
			  const void *argument)
{
	int error = errno;

	if (!timing_is_pending(timing))
		return;
	lock(timing);
	uint32_t pending = atomic_load_explicit(&timing->pending, memory_order_relaxed);
	for (uint32_t i = 0; i < pending; i++)
		if (visit(timing->launches[i], argument))
			timing->launches[i--] = timing->launches[--pending];
	atomic_store_explicit(&timing->pending, pending, memory_order_relaxed);
	unlock(timing);
	errno = error;
}

static bool is_awaited(const struct timed_launch *launch, const struct awaited *awaited)
{
	struct timed_device *device = launch->device;

	if (!is_opencl(device) || launch->source != awaited->source)
		return false;
	return launch->returned < awaited->before || launch->opencl_event == awaited->event ||
	       (awaited->queued && clocks_compare(device) &&
		launch->returned + device->host_error < host_time(device, awaited->queued));
}

static bool read_if_awaited(struct timed_launch *launch, const void *awaited)
{
	return is_awaited(launch, awaited) && launch_read(launch);
}

void timing_read_awaited(struct timing *timing, const struct awaited *awaited)
{
	pending_visit(timing, read_if_awaited, awaited);
}

static bool has_event(const struct timed_launch *launch, uintptr_t event)
{
	return is_opencl(launch->device) && launch->is_programs && launch->opencl_event == event;
}

bool timing_has_event(struct timing *timing, uintptr_t event)
{
	bool found = false;

	lock(timing);
	uint32_t pending = atomic_load_explicit(&timing->pending, memory_order_relaxed);
	for (uint32_t i = 0; i < pending && !found; i++)
		found = has_event(timing->launches[i], event);
	unlock(timing);
	return found;
}

static bool forget_if_event(struct timed_launch *launch, const void *event)
{
	if (!has_event(launch, (uintptr_t)event))
		return false;
	launch_forget(launch);
	return true;
}

void timing_forget_event(struct timing *timing, uintptr_t event)
{
	pending_visit(timing, forget_if_event, (const void *)event);
}

static bool end_if_source(struct timed_launch *launch, const void *source)
{
	if (launch->source != source)
		return false;
	if (!launch_read(launch))
		launch_forget(launch);
	return true;
}

void timing_end_source(struct timing *timing, const void *source)
{
	pending_visit(timing, end_if_source, source);
}

/* The launches of a device that is about to end have ended: what is still pending is not read. */
static void device_end(struct timing *timing, struct timed_device *device)
{
	uint32_t pending = atomic_load_explicit(&timing->pending, memory_order_relaxed);

	for (uint32_t i = 0; i < pending; i++)
		if (timing->launches[i]->device == device) {
			launch_put_back(timing->launches[i]);
			timing->launches[i--] = timing->launches[--pending];
		}
	atomic_store_explicit(&timing->pending, pending, memory_order_relaxed);
	while (device->unused) {
		struct timed_launch *launch = device->unused;

		device->unused = launch->next_unused;
		level_zero_event_destroy(launch);
		free(launch);
		timing->made--;
	}
	level_zero_pools_destroy(device);
	*device = (struct timed_device){ 0 };
}

void timing_end_context(struct timing *timing, const void *context)
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
