/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server of the metrics, on a thread of its own: a client that is slow or hostile delays nothing else. */
#ifndef IAPROF_PLUGINS_SINK_PROMETHEUS_SERVER_H
#define IAPROF_PLUGINS_SINK_PROMETHEUS_SERVER_H

#include <iaprof/host.h>

#include "text/text.h"

/* Limits: connections at a time, bytes of a request, seconds without a byte from a client. */
#define SERVER_CONNECTIONS_MAX 16u
#define SERVER_REQUEST_SIZE_MAX ((size_t)16 << 10)
#define SERVER_TIMEOUT 10u

/* Appends the page /metrics. Called on the server's thread. */
typedef void server_render(void *context, struct text *text);

struct server;

/* Listens on "HOST:PORT" without answering yet. Returns NULL after host->fail(). */
struct server *server_listen(const struct iaprof_host *host, const char *address);
/* Starts to answer. type: that of the page. Returns 0, or a negative errno after host->fail(). */
int server_start(struct server *server, const char *type, server_render *render, void *context);
/* Closes all connections, and ends the thread. */
void server_free(struct server *server);

#endif
