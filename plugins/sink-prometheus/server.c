/* SPDX-License-Identifier: Apache-2.0 */
/* See server.h. */
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAGE "/metrics"
#define BACKLOG 16
#define ADDRESS_SIZE 256u

struct server {
	const struct iaprof_host *host;
	int socket;
	struct MHD_Daemon *daemon;
	const char *type;
	server_render *render;
	void *context;
};

/* Splits "HOST:PORT" and "[HOST]:PORT". Returns the host in address, or NULL. */
static char *split(char *address, char **port)
{
	char *colon = strrchr(address, ':'), *host = address;
	if (!colon || !colon[1])
		return NULL;
	*colon = '\0';
	*port = colon + 1;
	size_t length = strlen(host);
	if (*host == '[' && host[length - 1] == ']') {
		host[length - 1] = '\0';
		return host + 1;
	}
	return strchr(host, ':') ? NULL : host;
}

static void report_address(const struct server *server)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof address;
	char host[NI_MAXHOST], port[NI_MAXSERV];
	if (!getsockname(server->socket, (struct sockaddr *)&address, &length) &&
	    !getnameinfo((struct sockaddr *)&address, length, host, sizeof host, port, sizeof port,
			 NI_NUMERICHOST | NI_NUMERICSERV))
		server->host->log(server->host, IAPROF_LOG_INFO, "metrics are at http://%s%s%s:%s" PAGE,
				  address.ss_family == AF_INET6 ? "[" : "", host,
				  address.ss_family == AF_INET6 ? "]" : "", port);
}

static int listen_on(struct server *server, const struct addrinfo *where, const char *address)
{
	const struct iaprof_host *host = server->host;
	server->socket = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (server->socket < 0 || setsockopt(server->socket, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) ||
	    bind(server->socket, where->ai_addr, where->ai_addrlen) || listen(server->socket, BACKLOG))
		return host->fail(host, errno, "cannot listen on %s: %s (set address=HOST:PORT)", address,
				  strerror(errno));
	return 0;
}

static int server_open(struct server *server, const char *address)
{
	const struct iaprof_host *host = server->host;
	char copy[ADDRESS_SIZE], *port = NULL;
	const struct addrinfo wanted = { .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
					 .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	if (strlen(address) >= sizeof copy)
		return host->fail(host, EINVAL, "address is too long");
	strcpy(copy, address);
	const char *name = split(copy, &port);
	if (name && strcmp(name, "localhost") == 0)
		name = "127.0.0.1";
	if (!name || strlen(port) > 5 || strtoul(port, NULL, 10) > UINT16_MAX ||
	    getaddrinfo(*name ? name : NULL, port, &wanted, &found))
		return host->fail(host, EINVAL, "address %s: not an IP address with a port, such as 127.0.0.1:9859",
				  address);
	int result = listen_on(server, found, address);
	freeaddrinfo(found);
	return result;
}

struct server *server_listen(const struct iaprof_host *host, const char *address)
{
	struct server *server = calloc(1, sizeof *server);
	if (!server) {
		host->fail(host, ENOMEM, "out of memory");
		return NULL;
	}
	*server = (struct server){ .host = host, .socket = -1 };
	if (!server_open(server, address))
		return server;
	server_free(server);
	return NULL;
}

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type, char *bytes,
			      size_t size)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(size, bytes, MHD_RESPMEM_MUST_COPY);
	if (!response)
		return MHD_NO;
	enum MHD_Result result = MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (result == MHD_YES && status == MHD_HTTP_METHOD_NOT_ALLOWED)
		result = MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (result == MHD_YES)
		result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned status, const char *string)
{
	return answer(connection, status, "text/plain; charset=utf-8", (char *)(uintptr_t)string, strlen(string));
}

static enum MHD_Result take_request(void *context, struct MHD_Connection *connection, const char *path,
				    const char *method, const char *version, const char *body, size_t *body_size,
				    void **request)
{
	struct server *server = context;
	(void)version;
	(void)body;
	(void)body_size;
	(void)request;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	if (strcmp(path, "/") == 0)
		return answer_text(connection, MHD_HTTP_OK, "iaprof: metrics are at " PAGE "\n");
	if (strcmp(path, PAGE) != 0)
		return answer_text(connection, MHD_HTTP_NOT_FOUND, "metrics are at " PAGE "\n");
	struct text text = { 0 };
	server->render(server->context, &text);
	enum MHD_Result result = text.failed ? answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n")
					     : answer(connection, MHD_HTTP_OK, server->type, text.data, text.size);
	text_free(&text);
	return result;
}

/* What clients do wrong is nothing that the user could mend. */
static void take_message(void *context, const char *format, va_list arguments)
{
	(void)context;
	(void)format;
	(void)arguments;
}

int server_start(struct server *server, const char *type, server_render *render, void *context)
{
	const struct iaprof_host *host = server->host;
	server->type = type;
	server->render = render;
	server->context = context;
	server->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL,
					  NULL, take_request, server, MHD_OPTION_EXTERNAL_LOGGER, take_message, NULL,
					  MHD_OPTION_LISTEN_SOCKET, server->socket, MHD_OPTION_CONNECTION_LIMIT,
					  SERVER_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, SERVER_TIMEOUT,
					  MHD_OPTION_CONNECTION_MEMORY_LIMIT, SERVER_REQUEST_SIZE_MAX, MHD_OPTION_END);
	if (!server->daemon)
		return host->fail(host, EIO, "cannot start the HTTP server");
	report_address(server);
	server->socket = -1; /* is the daemon's */
	return 0;
}

void server_free(struct server *server)
{
	if (!server)
		return;
	if (server->daemon)
		MHD_stop_daemon(server->daemon);
	if (server->socket >= 0)
		close(server->socket);
	free(server);
}
