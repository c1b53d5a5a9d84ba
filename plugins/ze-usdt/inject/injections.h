/* SPDX-License-Identifier: Apache-2.0 */
/* The injections of a run, one per profiled process. */
#pragma once

#include <stddef.h>
#include <iaprof/host.h>

/* Initialise with {0}. */
struct injections {
	struct injection **items;
	size_t count;
};

/* Starts one for each of the target's pids. Returns 0 or the result of host->fail(). See injection_start(). */
int injections_start(struct injections *injections, const struct iaprof_host *host, const char *library);

/* Ends all injections; idempotent. */
void injections_end(struct injections *injections);
