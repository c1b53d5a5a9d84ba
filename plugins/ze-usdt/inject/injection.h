/* SPDX-License-Identifier: Apache-2.0 */
/* An injection and the load that its tracing thread makes: what inject.c and injection_load.c share. */
#ifndef IAPROF_ZE_USDT_INJECT_INJECTION_H
#define IAPROF_ZE_USDT_INJECT_INJECTION_H

#include <pthread.h>
#include "call_watch.h"
#include "inject.h"
#include "remote_call.h"
#include "target_process.h"

#define SECOND UINT64_C(1000000000)

struct injection {
	const struct iaprof_host *host; /* atomic */
	struct target_process target;
	struct call_watch watch;
	pthread_t thread;
	bool has_thread;
	int stopping; /* atomic */
	int state;    /* atomic, enum injection_state */

	/* Of the thread. */
	struct remote_load load;
	uint64_t begin, news, looked;
	uint64_t load_began;
	bool told;
	bool told_deaf;
	char message[512];
};

/* Any thread: the host as long as somebody waits for the injection, then one that does nothing. */
static inline const struct iaprof_host *host_of(const struct injection *injection)
{
	return __atomic_load_n(&injection->host, __ATOMIC_ACQUIRE);
}

static inline void state_set(struct injection *injection, enum injection_state state)
{
	__atomic_store_n(&injection->state, state, __ATOMIC_RELEASE);
}

/* The rest is for the tracing thread. */

/* Logs injection->message; the injection has failed. */
void injection_fail(struct injection *injection);

/* A traced thread is stopped at the beginning of a function: loads the library on it. */
void injection_load_begin(struct injection *injection, pid_t thread);

/* The thread that loads is in the stub's last stop. */
void injection_load_finish(struct injection *injection);

/* Gives up a load that takes too long; call it now and then. */
void injection_check_deadline(struct injection *injection);

/* A thread that had not come back (load.is_lost) has stopped. */
void injection_put_back(struct injection *injection);

#endif
