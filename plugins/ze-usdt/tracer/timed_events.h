/* SPDX-License-Identifier: Apache-2.0 */
/* Events that time launches. */
#ifndef ZE_TRACER_TIMED_EVENTS_H
#define ZE_TRACER_TIMED_EVENTS_H

#include "opencl.h"
#include "timing.h"

enum event_state { EVENT_PENDING, EVENT_ENDED, EVENT_FAILED };

/* Of a launch, on the device's clock. */
struct time_stamps {
	uint64_t begin, end; /* ticks */
};

/*
 * Those of Level Zero (level_zero_events.c): of the tracer's own. A launch without an event of the program gets one
 * with time stamps, which no command waits for: of a pool, or on a list that executes in order a counter-based one,
 * behind which the list signals another one.
 */

/* Sets *event if a launch can be timed, and returns it, or NULL. Call level_zero_launch_end() after the call. */
struct timed_launch *level_zero_launch_begin(const struct list *list, ze_command_list_handle_t handle,
					     ze_event_handle_t *event);
/* The call with the event has returned. The program sees its argument as it was. */
void level_zero_launch_end(struct timed_launch *launch, bool is_appended);

/* For timing.c, with its lock. The first ones return false if the device cannot be used. */
bool level_zero_device_begin(struct timed_device *device);
bool level_zero_events_create(struct timed_device *device, struct timed_launch *launch);
enum event_state level_zero_event_read(struct timed_launch *launch, struct time_stamps *stamps);
bool level_zero_clock_read(const struct timed_device *device, uint64_t *ticks);
void level_zero_event_destroy(struct timed_launch *launch);
void level_zero_pools_destroy(struct timed_device *device);

/*
 * Those of OpenCL (opencl_events.c): each launch has one of its own, which is released when it was read. It is the
 * driver's, for a launch for which the program has none, or the program's, which is retained; the program does not see
 * the count. Intel's driver can wait when it is asked for the status of an event: where caches are flushed, as on LNL
 * and PTL, an event whose time stamps are written waits for all commands that were enqueued (Event::isCompleted() in
 * compute-runtime 26.27). And it submits commands that it had collected. Events are therefore asked for when the
 * program has waited for them.
 */

/* *event: the program's argument, NULL: none. As above; opencl_launch_end() is called after the call. */
struct timed_launch *opencl_launch_begin(uintptr_t queue, uintptr_t **event);
void opencl_launch_end(struct timed_launch *launch, bool is_enqueued);

/*
 * The program has waited for all commands of a queue, since a time (CLOCK_MONOTONIC, ns), or for events: reads what has
 * ended by then.
 */
void opencl_queue_awaited(uintptr_t queue, uint64_t since);
void opencl_events_awaited(const uintptr_t *events, uint32_t count);

/* clGetEventInfo(), at entry and at exit. */
void opencl_event_asked(const struct opencl_call *call);

/* For timing.c, with its lock. */
bool opencl_device_begin(struct timed_device *device);
enum event_state opencl_event_read(struct timed_launch *launch, struct time_stamps *stamps);
bool opencl_clock_read(const struct timed_device *device, uint64_t *ticks);
void opencl_event_release(struct timed_launch *launch);

#endif
