/* SPDX-License-Identifier: Apache-2.0 */
/* An injection and its load, shared by inject.c and injection_load.c. */
#pragma once

#include <pthread.h>
#include "base/clock.h"
#include "call_watch.h"
#include "inject.h"
#include "remote_call.h"
#include "target_process.h"
#include "text/printable.h"

#define SECOND NANOSECONDS_PER_SECOND

struct injection {
	const struct iaprof_host *host;
	const struct injection_request *request;
	struct target_process target;
	struct call_watch watch;
	pthread_t thread;
	bool has_thread;
	int stopping; /* atomic */
	int state;    /* atomic, enum injection_state */

	/* Used by the tracing thread. */
	struct remote_load load;
	uint64_t begin, news, examined;
	uint64_t load_began;
	bool is_reported;
	bool deaf_reported;
	char message[512];
};

static inline void state_set(struct injection *injection, enum injection_state state)
{
	__atomic_store_n(&injection->state, state, __ATOMIC_RELEASE);
}

/* The library's name in messages. */
static inline const char *injection_library(const struct injection *injection)
{
	return path_name(injection->request->library);
}

/* Returns whether there is nothing to do in the process as it was examined. */
static inline bool injection_is_done(const struct injection *injection)
{
	return injection->target.has_library && !injection->request->function;
}

/* The rest belongs to the tracing thread. */

/* Logs injection->message and marks the injection as failed. */
void injection_fail(struct injection *injection);

/* A traced thread is stopped at a function's entry: starts loading the library on it. */
void injection_load_begin(struct injection *injection, pid_t thread);

/* The loading thread is in the stub's last stop. */
void injection_load_finish(struct injection *injection);

/* Gives up a load that takes too long; call periodically. */
void injection_check_deadline(struct injection *injection);

/* A thread that had not returned (load.is_lost) has stopped. */
void injection_put_back(struct injection *injection);
