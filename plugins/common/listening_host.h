/* SPDX-License-Identifier: Apache-2.0 */
/* A host whose failures are kept as a text: for check(), which tells as an item what would end a run. */
#ifndef IAPROF_PLUGINS_COMMON_LISTENING_HOST_H
#define IAPROF_PLUGINS_COMMON_LISTENING_HOST_H

#include <iaprof/host.h>

/* Give &listening.host to what reports by host->fail(); the text of the last failure is in text. Any thread. */
struct listening_host {
	struct iaprof_host host;
	char text[512];
};

/* The rest goes to the real host. */
void listening_host_init(struct listening_host *listening, const struct iaprof_host *host);

#endif
