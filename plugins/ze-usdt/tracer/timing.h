/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times launches on the device by events, while a profiler is attached to kernel_time (../probes.h): which launches are
 * timed, and those whose times have not been read. The events are those of timed_events.h. When one has happened, which
 * is checked without waiting at later calls of the program, its times are read and reported, and only then is it used
 * again. A launch that finds the lock taken is not timed, unless all are. What a forked child inherits is forgotten,
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

/* Contexts and devices, each for every kind of events; launches on further ones are not timed. */
#define TIMED_DEVICES_MAX 16u

/* Events of Level Zero: of a pool, or on a list that executes in order a counter-based one. Events of OpenCL. */
enum timed_kind { TIMED_POOL, TIMED_COUNTER_BASED, TIMED_OPENCL };

/* A device in a context (of OpenCL, in all), and launches with events of one kind. */
struct timed_device {
	enum timed_kind kind;
	void *context, *device;
	bool failed;          /* an event was not created, or the device was lost */
	uint64_t address;     /* argument of kernel_time */
	double tick;          /* ns */
	uint64_t mask;        /* of the bits that time stamps have */
	uint64_t host, ticks; /* the same moment of CLOCK_MONOTONIC, ns, and the device's clock; host 0: never */
	uint64_t host_error;  /* host differs from that moment by at most so many ns */
	ze_event_pool_handle_t pools[TIMED_LAUNCHES_MAX / TIMED_POOL_EVENTS];
	uint32_t pool_events; /* in all pools */
	struct timed_launch *unused;
};

struct timed_launch {
	struct timed_launch *next_unused;
	struct timed_device *device;
	const void *source; /* the list or queue */
	uint64_t number;
	uint64_t appended, returned; /* CLOCK_MONOTONIC, ns: before and after the call */
	/* Of Level Zero. */
	ze_event_handle_t event;
	ze_event_handle_t marker;    /* signalled after the event, without a time stamp; NULL: of a pool */
	ze_event_handle_t *argument; /* of the call; NULL after it */
	/* Of OpenCL. */
	uintptr_t opencl_event, *place; /* where the driver writes it */
	bool is_programs;
};

/* Of a process. Initialise with {0}. */
struct timing {
	_Atomic bool locked;
	_Atomic uint32_t pending;       /* launches that were appended, and not read */
	_Atomic uint64_t last;          /* number of a launch */
	uint32_t made, next;            /* launches made; position in launches of the next one to check */
	struct timed_launch **launches; /* pending first */
	struct timed_device devices[TIMED_DEVICES_MAX];
};

/* Returns the argument of kernel_time for a PCI address. */
static inline uint64_t timed_device_address(uint64_t domain, uint32_t bus, uint32_t device, uint32_t function)
{
	return ZE_DEVICE_KNOWN | domain << 16 | (bus & 0xff) << 8 | (device & 0x1f) << 3 | (function & 7);
}

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

/* Returns CLOCK_MONOTONIC in ns. */
uint64_t timing_now(void);

/* Chooses launches at random, more of kernels that are launched rarely; all if a profiler wants that. */
bool timing_chooses(struct timing_thread *thread, struct kernel *kernel);

/* Returns a launch on a device whose event is not in use, with a number, or NULL: none can be timed now. */
struct timed_launch *timing_take(struct timing *timing, void *context, void *device, enum timed_kind kind,
				 const void *source);
/* The launch was appended: its times are read when its event has happened. */
void timing_add(struct timing *timing, struct timed_launch *launch);

/* The launch was not appended. */
void timing_put_back(struct timing *timing, struct timed_launch *launch);

/* Checks so many pending launches of Level Zero, and reports those that have ended. */
void timing_read(struct timing *timing, uint32_t count);

/* What a program has waited for on a queue of OpenCL. */
struct awaited {
	const void *source;
	uint64_t before; /* launches whose calls had returned at this time, CLOCK_MONOTONIC, ns; 0: not known */
	uint64_t queued; /* the same on the device's clock */
	uintptr_t event; /* and the launch that has it */
};
/* Reports launches that have ended. */
void timing_read_awaited(struct timing *timing, const struct awaited *awaited);

/* Returns whether any launch is pending. */
static inline bool timing_is_pending(struct timing *timing)
{
	return atomic_load_explicit(&timing->pending, memory_order_relaxed);
}

/* Returns whether a launch with this event of the program is pending. */
bool timing_has_event(struct timing *timing, uintptr_t event);
/* The program is about to set a callback for its event, which would be called where the event is asked for. */
void timing_forget_event(struct timing *timing, uintptr_t event);

/* A list is about to be destroyed, or a queue was: reads what has ended, and forgets the rest. */
void timing_end_source(struct timing *timing, const void *source);

/* A context is about to be destroyed: reads what has ended, and destroys its events. */
void timing_end_context(struct timing *timing, const void *context);

/* In a forked child. */
void timing_forked(struct timing *timing);

#endif
