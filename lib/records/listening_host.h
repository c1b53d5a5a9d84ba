/* SPDX-License-Identifier: Apache-2.0 */
/* A host that captures failures as text, so that check() can report them as items. */
#pragma once

#include <iaprof/host.h>

/* Pass &listening.host to functions that call host->fail(); text is the last failure. Any thread. */
struct listening_host {
	struct iaprof_host host;
	char text[512];
};

/* Initialises a host that forwards all other calls to the real host. */
void listening_host_init(struct listening_host *listening, const struct iaprof_host *host);
