/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times launches on the device by events of the tracer's own, while a profiler is attached to kernel_time
 * (../probes.h). A launch without an event of the program gets one with time stamps, which no command waits for: of a
 * pool, or on a list that executes in order a counter-based one, behind which the list signals another one. When it has
 * happened, which is checked without waiting at later calls of the program, its times are read and reported, and only
 * then is it used again. A launch that finds the lock taken is not timed. What a forked child inherits is forgotten,
 * because the driver's memory is not its own.
 */
#ifndef ZE_TRACER_TIMING_H
#define ZE_TRACER_TIMING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "level_zero.h"
#include "probe_sites.h"
#include "registry.h"

/* Launches that are timed at once, of all lists; while there are so many, further ones are not timed. */
#define TIMED_LAUNCHES_MAX 1024u

#define TIMED_POOL_EVENTS 64u

/* Contexts and devices, each for both kinds of events; launches on further ones are not timed. */
#define TIMED_DEVICES_MAX 16u

struct timed_launch;

/* A device in a context, and events of one kind. */
struct timed_device {
	ze_context_handle_t context;
	ze_device_handle_t device;
	bool counter_based, failed; /* failed: an event was not created, or the device was lost */
	uint64_t address;           /* argument of kernel_time */
	double tick;                /* ns */
	uint64_t mask;              /* of the bits that time stamps have */
	uint64_t host, ticks;       /* the same moment of CLOCK_MONOTONIC, ns, and the device's clock; host 0: never */
	ze_event_pool_handle_t pools[TIMED_LAUNCHES_MAX / TIMED_POOL_EVENTS];
	uint32_t pool_events; /* in all pools */
	struct timed_launch *unused;
};

/* Of a process. Initialise with {0}. */
struct timing {
	_Atomic bool locked;
	_Atomic uint32_t pending;       /* launches that were appended, and not read */
	_Atomic uint64_t last;          /* number of a launch */
	uint32_t made, next;            /* events made; position in launches of the next one to check */
	struct timed_launch **launches; /* pending first */
	struct timed_device devices[TIMED_DEVICES_MAX];
};

/* Returns whether a profiler wants times. */
static inline bool timing_is_on(void)
{
	return level_zero_kernel_time_semaphore > 0;
}

/* Of a thread; initialise with {0}. */
struct timing_thread {
	uint64_t random; /* state */
	uint64_t begin;  /* of a short time, CLOCK_MONOTONIC, ns, in which it chose count launches */
	uint32_t count;
};

/* Chooses launches at random, more of kernels that are launched rarely; all if a profiler wants that. */
bool timing_chooses(struct timing_thread *thread, struct kernel *kernel);

/* Returns a launch to be timed, with *event, or NULL: none can be timed now. Call timing_end() after the call. */
struct timed_launch *timing_begin(struct timing *timing, struct list *list, ze_command_list_handle_t handle,
				  ze_event_handle_t *event);
uint64_t timing_number(const struct timed_launch *launch);
/* The call with the event has returned. The program sees its argument as it was. */
void timing_end(struct timing *timing, struct timed_launch *launch, bool is_appended);

/* Checks so many pending launches, and reports those that have ended. */
void timing_read(struct timing *timing, uint32_t count);

/* A list is about to be destroyed: reads what has ended, and forgets the rest. */
void timing_end_list(struct timing *timing, ze_command_list_handle_t list);

/* A context is about to be destroyed: reads what has ended, and destroys its events. */
void timing_end_context(struct timing *timing, ze_context_handle_t context);

/* In a forked child. */
void timing_forked(struct timing *timing);

#endif
