/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the tracer into a running process (tracer=inject). */
#pragma once

#include <stdint.h>
#include <iaprof/host.h>

struct injection;

enum injection_state {
	INJECTION_WAITING, /* waiting for a call of Level Zero */
	INJECTION_LOADED,  /* the library is loaded, now or before */
	INJECTION_FAILED,  /* failed; the reason was logged */
	INJECTION_ENDED    /* the process has exited */
};

/*
 * Starts loading a library into a process, or a copy in memory if the process does not see the same file under the
 * library's path. It is loaded on the first thread that calls Level Zero for the second time, as if the application had
 * called dlopen() there: its constructors run on that thread while all others continue. Until then a thread of the
 * injection waits, for the whole run if necessary. This and the result are reported with host->log(). Takes about 100
 * ms, for the BPF program. Returns 0 with *injection set, or the result of host->fail() if injection is impossible;
 * then the process was not touched. On the thread of prepare() or start(). The host must stay valid until
 * injection_end().
 */
int injection_start(const struct iaprof_host *host, uint32_t pid, const char *library, struct injection **injection);

/* Any thread. */
enum injection_state injection_state(const struct injection *injection);

/* Requests the end without waiting. NULL is allowed. */
void injection_stop(struct injection *injection);

/*
 * Ends and frees the injection. NULL is allowed. Waits up to a second for a load in progress; a longer one finishes on
 * its own. The library stays in the process. The wait is bounded whatever the process does.
 */
void injection_end(struct injection *injection);
