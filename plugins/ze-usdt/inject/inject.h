/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the tracer into a process that already runs (tracer=inject): the one call that ze-usdt makes for it. */
#ifndef IAPROF_ZE_USDT_INJECT_H
#define IAPROF_ZE_USDT_INJECT_H

#include <stdint.h>
#include <iaprof/host.h>

struct injection;

enum injection_state {
	INJECTION_WAITING, /* for the process to call Level Zero */
	INJECTION_LOADED,  /* the library is in the process, now or since before */
	INJECTION_FAILED,  /* it was logged why */
	INJECTION_ENDED    /* the process has ended before */
};

/*
 * Begins to load a library (its path here; the process has to see the same file under it) into a process. It is loaded
 * on the first thread that calls Level Zero for the second time, as if the application had called dlopen() there: its
 * constructors run on that thread, while all others go on. Until then a thread of the injection waits, as long as the
 * run; that is told by host->log(), and so is what comes of it.
 *
 * Takes some 100 ms, for the BPF program. Returns 0 with *injection set, or what host->fail() returns after one line
 * that says why it cannot be: then nothing was touched. On the thread of prepare() or start(). The host must live until
 * injection_end().
 */
int injection_start(const struct iaprof_host *host, uint32_t pid, const char *library, struct injection **injection);

/* Any thread. */
enum injection_state injection_state(const struct injection *injection);

/* Asks it to end, without waiting, NULL allowed. */
void injection_stop(struct injection *injection);

/*
 * Ends the injection and frees it, NULL allowed. Waits up to a second for a load that runs; one that takes longer ends
 * without us. The library stays in the process. The wait has an end whatever the process does.
 */
void injection_end(struct injection *injection);

#endif
