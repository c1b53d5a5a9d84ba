/* SPDX-License-Identifier: Apache-2.0 */
/* The epoll loop: see loop.h. */
#include "bus/loop.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"

#define EVENTS_PER_TURN 64
#define TIMER_PERIOD_MINIMUM 1000000

struct loop_watch {
	struct loop *loop;
	struct loop_watch *next;
	int descriptor;
	uint32_t events;
	bool removed; /* to be freed after the current turn */
	bool paused;
	void (*ready)(void *context, uint32_t events);
	void (*expired)(void *context,
			uint64_t expirations); /* for a timer, whose descriptor is closed with the watch */
	void *context;
};

struct loop {
	int epoll;
	int wake;       /* eventfd */
	uint64_t phase; /* CLOCK_MONOTONIC time at which periods of timers begin */
	bool in_turn;
	struct loop_watch *watches;
};

struct loop *loop_new(void)
{
	struct loop *loop = calloc(1, sizeof *loop);
	if (!loop)
		return NULL;
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct epoll_event event = { .events = EPOLLIN };
	if (loop->epoll < 0 || loop->wake < 0 || epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->wake, &event)) {
		int code = errno;
		loop_free(loop);
		errno = code;
		return NULL;
	}
	return loop;
}

static void free_watch(struct loop_watch *watch)
{
	if (watch->expired)
		close(watch->descriptor);
	free(watch);
}

static void free_watches(struct loop *loop, bool all)
{
	for (struct loop_watch **link = &loop->watches; *link;) {
		struct loop_watch *watch = *link;
		if (all || watch->removed) {
			*link = watch->next;
			free_watch(watch);
		} else {
			link = &watch->next;
		}
	}
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	free_watches(loop, true);
	if (loop->epoll >= 0)
		close(loop->epoll);
	if (loop->wake >= 0)
		close(loop->wake);
	free(loop);
}

static int add_watch(struct loop *loop, struct loop_watch contents, uint32_t events, struct loop_watch **watch)
{
	struct loop_watch *added = malloc(sizeof *added);
	if (!added)
		return -ENOMEM;
	*added = contents;
	added->loop = loop;
	added->events = events;
	struct epoll_event event = { .events = events, .data.ptr = added };
	if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, added->descriptor, &event)) {
		int result = -errno;
		free(added);
		return result;
	}
	added->next = loop->watches;
	loop->watches = added;
	if (watch)
		*watch = added;
	return 0;
}

int loop_watch_descriptor(struct loop *loop, int fd, uint32_t events, void (*ready)(void *context, uint32_t events),
			  void *context, struct loop_watch **watch)
{
	return add_watch(loop, (struct loop_watch){ .descriptor = fd, .ready = ready, .context = context }, events,
			 watch);
}

static struct timespec timespec_of(uint64_t nanoseconds)
{
	return (struct timespec){ .tv_sec = (time_t)(nanoseconds / NANOSECONDS_PER_SECOND),
				  .tv_nsec = (long)(nanoseconds % NANOSECONDS_PER_SECOND) };
}

void loop_begin_periods(struct loop *loop)
{
	loop->phase = clock_monotonic();
}

int loop_watch_timer(struct loop *loop, uint64_t period, void (*expired)(void *context, uint64_t expirations),
		     void *context, struct loop_watch **watch)
{
	if (period < TIMER_PERIOD_MINIMUM)
		period = TIMER_PERIOD_MINIMUM;
	int descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (descriptor < 0)
		return -errno;
	uint64_t now = clock_monotonic(), next = now + period - (now - loop->phase) % period;
	struct itimerspec timer = { .it_interval = timespec_of(period), .it_value = timespec_of(next) };
	int result = timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &timer, NULL) ? -errno : 0;
	if (!result)
		result = add_watch(
			loop, (struct loop_watch){ .descriptor = descriptor, .expired = expired, .context = context },
			EPOLLIN, watch);
	if (result)
		close(descriptor);
	return result;
}

void loop_pause(struct loop_watch *watch)
{
	if (!watch->paused)
		epoll_ctl(watch->loop->epoll, EPOLL_CTL_DEL, watch->descriptor, NULL);
	watch->paused = true;
}

int loop_resume(struct loop_watch *watch)
{
	struct epoll_event event = { .events = watch->events, .data.ptr = watch };
	if (!watch->paused)
		return 0;
	if (epoll_ctl(watch->loop->epoll, EPOLL_CTL_ADD, watch->descriptor, &event))
		return -errno;
	watch->paused = false;
	return 0;
}

void loop_timer_once(struct loop_watch *watch, uint64_t delay)
{
	struct itimerspec timer = { .it_value =
					    timespec_of(delay < TIMER_PERIOD_MINIMUM ? TIMER_PERIOD_MINIMUM : delay) };
	(void)timerfd_settime(watch->descriptor, 0, &timer, NULL); /* fails only for invalid arguments */
}

void loop_unwatch(struct loop *loop, struct loop_watch *watch)
{
	loop_pause(watch);
	watch->removed = true;
	if (!loop->in_turn)
		free_watches(loop, false);
}

static void call_back(struct loop_watch *watch, uint32_t events)
{
	uint64_t expirations;
	if (!watch->expired)
		watch->ready(watch->context, events);
	else if (read(watch->descriptor, &expirations, sizeof expirations) == sizeof expirations)
		watch->expired(watch->context, expirations);
}

int loop_turn(struct loop *loop, uint64_t timeout_ns)
{
	struct epoll_event events[EVENTS_PER_TURN];
	/* Rounded up, so that the deadline has passed when the wait ends. */
	int timeout = timeout_ns == UINT64_MAX     ? -1
		      : timeout_ns > 3600000000000 ? 3600000
						   : (int)((timeout_ns + 999999) / 1000000);
	int count = epoll_wait(loop->epoll, events, EVENTS_PER_TURN, timeout);
	if (count < 0)
		return errno == EINTR ? 0 : -errno;
	loop->in_turn = true;
	for (int i = 0; i < count; i++) {
		struct loop_watch *watch = events[i].data.ptr;
		uint64_t wakes;
		if (!watch) {
			if (read(loop->wake, &wakes, sizeof wakes) < 0)
				continue;
		} else if (!watch->removed && !watch->paused) {
			call_back(watch, events[i].events);
		}
	}
	loop->in_turn = false;
	free_watches(loop, false);
	return 0;
}

void loop_wake(struct loop *loop)
{
	uint64_t one = 1;
	int saved = errno;
	if (write(loop->wake, &one, sizeof one) < 0)
		errno = saved; /* fails only if the counter is full, which wakes the loop as well */
	errno = saved;
}
