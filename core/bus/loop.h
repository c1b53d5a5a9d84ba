/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core's only epoll loop: file descriptors and timers. Used on one thread, except for loop_wake(), which any thread
 * and signal handlers may call.
 */
#pragma once

#include <stdint.h>

struct loop;
struct loop_watch;

struct loop *loop_new(void); /* NULL with errno set */
void loop_free(struct loop *loop);

/* Calls back with epoll's events when fd is ready. *watch, if not NULL, is set. Returns 0 or a negative errno. */
int loop_watch_descriptor(struct loop *loop, int fd, uint32_t events, void (*ready)(void *context, uint32_t events),
			  void *context, struct loop_watch **watch);
/* Periods of timers that are added from now on begin now. */
void loop_begin_periods(struct loop *loop);
/*
 * Calls back every period ns (at least 1 ms) with the number of periods elapsed. Timers with the same period wake the
 * process once, because periods of all begin at the same time (loop_begin_periods()).
 */
int loop_watch_timer(struct loop *loop, uint64_t period, void (*expired)(void *context, uint64_t expirations),
		     void *context, struct loop_watch **watch);
/* Removes a watch. Safe inside a callback. */
void loop_unwatch(struct loop *loop, struct loop_watch *watch);
/* Disables a watch, which must still be removed with loop_unwatch(). */
void loop_pause(struct loop_watch *watch);
/* Enables a watch of a descriptor again, with its events. Returns 0 or a negative errno. */
int loop_resume(struct loop_watch *watch);
/* Makes a timer expire once, after a delay in ns (at least 1 ms), instead of at its period. */
void loop_timer_once(struct loop_watch *watch, uint64_t delay);

/* Waits up to timeout_ns (UINT64_MAX: no limit) for events and calls back. Returns 0 or a negative errno. */
int loop_turn(struct loop *loop, uint64_t timeout_ns);
/* Makes loop_turn() return. Async-signal-safe. */
void loop_wake(struct loop *loop);
