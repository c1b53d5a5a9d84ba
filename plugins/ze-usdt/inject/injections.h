/* SPDX-License-Identifier: Apache-2.0 */
/* The injections of a run: one for each process that is profiled. */
#ifndef IAPROF_ZE_USDT_INJECTIONS_H
#define IAPROF_ZE_USDT_INJECTIONS_H

#include <stddef.h>
#include <iaprof/host.h>

/* Initialise with {0}. */
struct injections {
	struct injection **items;
	size_t count;
};

/* Begins one for each of the target's pids: 0, or what host->fail() returned. As injection_start(). */
int injections_start(struct injections *injections, const struct iaprof_host *host, const char *library);

/* Ends them all; a second time it does nothing. */
void injections_end(struct injections *injections);

#endif
