/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a library into a running process, and calls a function of it. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <iaprof/host.h>
#include "watched_calls.h"

struct injection;

enum injection_state {
	INJECTION_WAITING, /* for a call of the program */
	INJECTION_LOADED,  /* the library is loaded, now or before, and its function was called */
	INJECTION_FAILED,  /* failed; the reason was logged */
	INJECTION_ENDED    /* the process has exited */
};

/* Everything is borrowed until injection_end(). */
struct injection_request {
	pid_t pid;
	const char *library;             /* path */
	const char *function, *argument; /* that it exports: void function(const char *argument); NULL: none */
	const char *api;                 /* whose calls are waited for, in messages: "Level Zero or OpenCL" */
	struct watched_calls calls[WATCHED_LIBRARIES_MAX];
	size_t calls_count;
};

/*
 * Checks whether the library can be loaded, as far as that is known beforehand. Returns 0 or the result of
 * host->fail(). Does not touch the process.
 */
int injection_check(const struct iaprof_host *host, const struct injection_request *request);

/*
 * Starts loading a library into a process, or a copy in memory if the process does not see the same file under the
 * library's path. It is loaded on the first thread that calls one of the watched functions for the second time, as if
 * the application had called dlopen() and the function there: all other threads continue. Where the library is loaded
 * already, only the function is called. Until then a thread of the injection waits, for the whole run if necessary.
 * This and the result are reported with host->log(), from the injection's thread. Takes about 100 ms, for the BPF
 * program. Returns 0 with *injection set, or the result of host->fail() if injection is impossible; then the process
 * was not touched. The host must stay valid until injection_end().
 */
int injection_start(const struct iaprof_host *host, const struct injection_request *request,
		    struct injection **injection);

/* Any thread. */
enum injection_state injection_state(const struct injection *injection);

/*
 * Ends and frees the injection. NULL is allowed. Waits up to a second for a load in progress; a longer one finishes on
 * its own. The library stays in the process. The wait is bounded whatever the process does; if it is exceeded, the
 * injection's thread is left, and the caller must exit.
 */
void injection_end(struct injection *injection);
