/* SPDX-License-Identifier: Apache-2.0 */
/* See acceptor.h. */
#include "http/acceptor.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/thread.h"

#define EVENTS_MAX 32
#define NANOSECONDS_PER_MILLISECOND (NANOSECONDS_PER_SECOND / 1000)

struct pending_connection {
	int socket;
	bool has_request;  /* complete, and waits to be passed on */
	uint64_t accepted; /* CLOCK_MONOTONIC ns */
};

struct acceptor {
	struct acceptor_options options;
	pthread_t thread;
	int wake;  /* eventfd */
	int epoll; /* of pending connections, edge-triggered: what has arrived stays in the socket */
	atomic_bool is_stopping;
	atomic_uint answered; /* passed on and not released */
	uint64_t paused;      /* CLOCK_MONOTONIC ns until which nothing is accepted */
	struct pending_connection pending[ACCEPTOR_PENDING_MAX]; /* in order of acceptance */
	size_t count;
	char request[]; /* of options.request_size */
};

/* Removes a pending connection without closing it. Returns its socket. */
static int take_out(struct acceptor *acceptor, size_t index)
{
	int socket = acceptor->pending[index].socket;
	epoll_ctl(acceptor->epoll, EPOLL_CTL_DEL, socket, NULL);
	acceptor->count--;
	memmove(acceptor->pending + index, acceptor->pending + index + 1,
		(acceptor->count - index) * sizeof *acceptor->pending);
	return socket;
}

/* Returns whether text has the empty line that ends the header of a request. */
static bool has_empty_line(const char *text, size_t size)
{
	return memmem(text, size, "\n\r\n", 3) || memmem(text, size, "\n\n", 2);
}

/*
 * Looks at what a client has sent so far. Returns false for something that is no request. One that begins with an empty
 * line is none, because libmicrohttpd would skip the line and wait for the rest.
 */
static bool update_request(struct acceptor *acceptor, struct pending_connection *connection)
{
	size_t limit = acceptor->options.request_size;
	ssize_t size = recv(connection->socket, acceptor->request, limit, MSG_PEEK | MSG_DONTWAIT);
	if (size < 0)
		return errno == EAGAIN;
	connection->has_request = (size_t)size == limit || has_empty_line(acceptor->request, (size_t)size);
	return size && acceptor->request[0] > ' ';
}

/* Closes a pending connection unless its request has arrived meanwhile. Returns whether it was closed. */
static bool drop(struct acceptor *acceptor, size_t index)
{
	if (update_request(acceptor, &acceptor->pending[index]) && acceptor->pending[index].has_request)
		return false;
	close(take_out(acceptor, index));
	return true;
}

/* Returns the first pending connection from index on without a request, or count. */
static size_t next_incomplete(const struct acceptor *acceptor, size_t index)
{
	while (index < acceptor->count && acceptor->pending[index].has_request)
		index++;
	return index;
}

/*
 * Returns when the oldest pending connection without a request has had this duration to send one, or UINT64_MAX if
 * there is none.
 */
static uint64_t end_of_oldest(const struct acceptor *acceptor, uint64_t duration)
{
	size_t oldest = next_incomplete(acceptor, 0);
	return oldest < acceptor->count ? acceptor->pending[oldest].accepted + duration : UINT64_MAX;
}

static void drop_late(struct acceptor *acceptor, uint64_t now)
{
	for (size_t i = 0; (i = next_incomplete(acceptor, i)) < acceptor->count &&
			   acceptor->pending[i].accepted + ACCEPTOR_TIME_MAX <= now;)
		i += !drop(acceptor, i);
}

/* Drops the oldest connection that may be dropped when there are too many. Returns false if there is none. */
static bool make_room(struct acceptor *acceptor, uint64_t now)
{
	for (size_t i = 0; (i = next_incomplete(acceptor, i)) < acceptor->count &&
			   acceptor->pending[i].accepted + ACCEPTOR_TIME_MIN <= now;)
		if (drop(acceptor, i))
			return true;
	return false;
}

static void pass_requests(struct acceptor *acceptor)
{
	for (size_t i = 0; i < acceptor->count && atomic_load(&acceptor->answered) < acceptor->options.answered_max;) {
		if (!acceptor->pending[i].has_request) {
			i++;
			continue;
		}
		atomic_fetch_add(&acceptor->answered, 1);
		if (!acceptor->options.pass(acceptor->options.context, take_out(acceptor, i)))
			atomic_fetch_sub(&acceptor->answered, 1);
	}
}

static void accept_connection(struct acceptor *acceptor, uint64_t now)
{
	if (acceptor->count == ACCEPTOR_PENDING_MAX && !make_room(acceptor, now))
		return;
	int socket = accept4(acceptor->options.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (socket < 0) {
		/* Without a free descriptor or memory, the connection remains in the queue. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			make_room(acceptor, now);
			acceptor->paused = now + ACCEPTOR_TIME_MIN;
		}
		return;
	}
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.fd = socket };
	if (epoll_ctl(acceptor->epoll, EPOLL_CTL_ADD, socket, &event))
		close(socket);
	else
		acceptor->pending[acceptor->count++] = (struct pending_connection){ .socket = socket, .accepted = now };
}

static void take_event(struct acceptor *acceptor, const struct epoll_event *event)
{
	size_t i = 0;
	while (i < acceptor->count && acceptor->pending[i].socket != event->data.fd)
		i++;
	if (i == acceptor->count || acceptor->pending[i].has_request)
		return;
	if (!update_request(acceptor, &acceptor->pending[i]) ||
	    (!acceptor->pending[i].has_request && event->events & ~(uint32_t)EPOLLIN))
		close(take_out(acceptor, i));
}

static void take_events(struct acceptor *acceptor)
{
	struct epoll_event events[EVENTS_MAX];
	int count = epoll_wait(acceptor->epoll, events, EVENTS_MAX, 0);
	for (int i = 0; i < count; i++)
		take_event(acceptor, &events[i]);
}

/* Waits for the next event. Returns false when the acceptor is stopped. */
static bool wait_and_accept(struct acceptor *acceptor)
{
	uint64_t now = clock_monotonic(), next = end_of_oldest(acceptor, ACCEPTOR_TIME_MAX);
	uint64_t room = acceptor->count < ACCEPTOR_PENDING_MAX ? 0 : end_of_oldest(acceptor, ACCEPTOR_TIME_MIN);
	if (room < acceptor->paused)
		room = acceptor->paused;
	if (room > now && room < next)
		next = room;
	struct pollfd files[] = { { .fd = acceptor->wake, .events = POLLIN },
				  { .fd = acceptor->epoll, .events = POLLIN },
				  { .fd = room <= now ? acceptor->options.listener : -1, .events = POLLIN } };
	int timeout = next == UINT64_MAX ? -1 : next <= now ? 0 : (int)((next - now) / NANOSECONDS_PER_MILLISECOND) + 1;
	if (poll(files, sizeof files / sizeof *files, timeout) < 0)
		return !atomic_load(&acceptor->is_stopping);
	if (files[0].revents)
		eventfd_read(acceptor->wake, &(eventfd_t){ 0 });
	if (files[1].revents)
		take_events(acceptor);
	if (files[2].revents)
		accept_connection(acceptor, clock_monotonic());
	return !atomic_load(&acceptor->is_stopping);
}

static void *run(void *context)
{
	struct acceptor *acceptor = context;
	while (wait_and_accept(acceptor)) {
		drop_late(acceptor, clock_monotonic());
		pass_requests(acceptor);
	}
	return NULL;
}

int acceptor_start(struct acceptor **result, const struct acceptor_options *options)
{
	struct acceptor *acceptor = calloc(1, sizeof *acceptor + options->request_size);
	if (!acceptor)
		return -ENOMEM;
	acceptor->options = *options;
	acceptor->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	acceptor->epoll = epoll_create1(EPOLL_CLOEXEC);
	*result = acceptor; /* before the thread passes a connection on, which can end at once */
	int code = acceptor->wake < 0 || acceptor->epoll < 0 ? errno : thread_start(&acceptor->thread, run, acceptor);
	if (code) {
		acceptor_free(acceptor);
		*result = NULL;
	}
	return -code;
}

void acceptor_release(struct acceptor *acceptor)
{
	atomic_fetch_sub(&acceptor->answered, 1);
	eventfd_write(acceptor->wake, 1);
}

void acceptor_stop(struct acceptor *acceptor)
{
	atomic_store(&acceptor->is_stopping, true);
	eventfd_write(acceptor->wake, 1);
	pthread_join(acceptor->thread, NULL);
	while (acceptor->count)
		close(take_out(acceptor, acceptor->count - 1));
}

void acceptor_free(struct acceptor *acceptor)
{
	if (!acceptor)
		return;
	if (acceptor->wake >= 0)
		close(acceptor->wake);
	if (acceptor->epoll >= 0)
		close(acceptor->epoll);
	free(acceptor);
}
