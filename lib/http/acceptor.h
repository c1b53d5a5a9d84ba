/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepts connections on a thread of its own, and passes on those whose request has arrived. A client that sends
 * nothing, or sends slowly, uses none of the connections that are answered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"

/* Limit on connections whose request has not been passed on; further ones wait in the Linux kernel. */
#define ACCEPTOR_PENDING_MAX 128u
/*
 * Time to send a request, in ns from the accepted connection; bytes that arrive do not extend it. When there are
 * ACCEPTOR_PENDING_MAX, the oldest one is closed after the shorter time to accept another.
 */
#define ACCEPTOR_TIME_MIN (NANOSECONDS_PER_SECOND / 10)
#define ACCEPTOR_TIME_MAX (2 * NANOSECONDS_PER_SECOND)

struct acceptor;

/* Called on the acceptor's thread with a socket that it must close. Returns false if it was closed already. */
typedef bool acceptor_pass(void *context, int socket);

struct acceptor_options {
	int listener;          /* nonblocking socket, which the caller closes after acceptor_free() */
	size_t request_size;   /* a request that is larger is passed on before its end, and should be refused */
	unsigned answered_max; /* limit on connections that were passed on and not released */
	acceptor_pass *pass;
	void *context;
};

/* Starts to accept. Returns 0 or a negative errno. */
int acceptor_start(struct acceptor **acceptor, const struct acceptor_options *options);
/* Reports the end of a connection that was passed on. Called on any thread. */
void acceptor_release(struct acceptor *acceptor);
/* Ends the thread, and closes the connections that were not passed on. */
void acceptor_stop(struct acceptor *acceptor);
/* Frees a stopped acceptor, after which nothing is released. acceptor may be NULL. */
void acceptor_free(struct acceptor *acceptor);
