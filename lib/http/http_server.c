/* SPDX-License-Identifier: Apache-2.0 */
/* See http_server.h. */
#include "http/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "http/http_address.h"

#define BACKLOG 16

struct http_server {
	unsigned flags;
	int socket;
	struct MHD_Daemon *daemon;
	http_handler *handler;
	void *context;
};

struct http_request {
	struct MHD_Connection *connection;
	const char *path;
};

void http_server_address(const struct http_server *server, char text[HTTP_SERVER_ADDRESS_SIZE])
{
	struct sockaddr_storage address;
	socklen_t length = sizeof address;
	char host[INET6_ADDRSTRLEN + 16], port[8];
	text[0] = '\0';
	if (!getsockname(server->socket, (struct sockaddr *)&address, &length) &&
	    !getnameinfo((struct sockaddr *)&address, length, host, sizeof host, port, sizeof port,
			 NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(text, HTTP_SERVER_ADDRESS_SIZE, address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
			 port);
}

static bool is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
	const struct sockaddr_in *in = (const void *)address;
	return address->sa_family == AF_INET && ntohl(in->sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
}

static int server_open(struct http_server *server, const char *text, struct error *error)
{
	struct http_address address;
	int result = http_address_read(&address, text, error);
	if (result)
		return result;
	if (server->flags & HTTP_SERVER_LOOPBACK && !is_loopback((const struct sockaddr *)&address.socket))
		return error_set(error, EINVAL, "address %s: other machines could reach it (use 127.0.0.1 and ssh -L)",
				 text);
	server->socket = http_address_bind(&address, text, error);
	if (server->socket < 0)
		return server->socket;
	if (listen(server->socket, BACKLOG)) {
		int code = errno;
		return error_set(error, code, "cannot listen on %s: %s", text, strerror(code));
	}
	return 0;
}

struct http_server *http_server_listen(const char *address, unsigned flags, struct error *error)
{
	struct http_server *server = calloc(1, sizeof *server);
	if (!server) {
		error_set(error, ENOMEM, "out of memory");
		return NULL;
	}
	*server = (struct http_server){ .flags = flags, .socket = -1 };
	if (!server_open(server, address, error))
		return server;
	http_server_free(server);
	return NULL;
}

const char *http_request_path(const struct http_request *request)
{
	return request->path;
}

const char *http_request_header(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *http_request_cookie(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_COOKIE_KIND, name);
}

const char *http_request_parameter(const struct http_request *request, const char *name)
{
	const char *value = NULL;
	size_t size = 0;
	MHD_lookup_connection_value_n(request->connection, MHD_GET_ARGUMENT_KIND, name, strlen(name), &value, &size);
	return value && strlen(value) != size ? "" : value;
}

void http_request_extend(struct http_request *request, unsigned seconds)
{
	MHD_set_connection_option(request->connection, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}

void http_answer_header(struct http_answer *answer, const char *name, const char *value)
{
	struct http_header header = { .name = name, .value = strdup(value) };
	if (header.value && array_push(&answer->headers, header))
		return;
	free(header.value);
	answer->body.failed = true;
}

void http_answer_text(struct http_answer *answer, unsigned status, const char *text)
{
	answer->status = status;
	answer->type = NULL;
	answer->body.size = 0;
	text_append_string(&answer->body, text);
}

static enum MHD_Result queue(struct MHD_Connection *connection, struct http_answer *answer)
{
	/* The response frees the body. */
	char *bytes = STEAL_POINTER(answer->body.data);
	struct MHD_Response *response =
		MHD_create_response_from_buffer(answer->body.size, bytes, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		free(bytes);
		return MHD_NO;
	}
	enum MHD_Result result = MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
							 answer->type ? answer->type : "text/plain; charset=utf-8");
	for (size_t i = 0; i < answer->headers.count && result == MHD_YES; i++)
		result = MHD_add_response_header(response, answer->headers.items[i].name,
						 answer->headers.items[i].value);
	if (result == MHD_YES)
		result = MHD_queue_response(connection, answer->status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result take_request(void *context, struct MHD_Connection *connection, const char *path,
				    const char *method, const char *version, const char *body, size_t *body_size,
				    void **state)
{
	struct http_server *server = context;
	struct http_request request = { .connection = connection, .path = path };
	struct http_answer answer = { .status = MHD_HTTP_OK };
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
		http_answer_text(&answer, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
		http_answer_header(&answer, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	} else {
		server->handler(server->context, &request, &answer);
	}
	if (answer.body.failed) {
		text_free(&answer.body);
		http_answer_text(&answer, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n");
	}
	enum MHD_Result result = queue(connection, &answer);
	for (size_t i = 0; i < answer.headers.count; i++)
		free(answer.headers.items[i].value);
	array_free(&answer.headers);
	text_free(&answer.body);
	return result;
}

/* What clients do wrong is nothing that the user could mend. */
static void take_message(void *context, const char *format, va_list arguments)
{
}

int http_server_start(struct http_server *server, http_handler *handler, void *context, struct error *error)
{
	/* MHD polls a thread's one socket with poll(2). */
	unsigned threads =
		server->flags & HTTP_SERVER_THREADED ? MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL : MHD_USE_EPOLL;
	server->handler = handler;
	server->context = context;
	server->daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | threads | MHD_USE_ERROR_LOG, 0, NULL, NULL, take_request, server,
		MHD_OPTION_EXTERNAL_LOGGER, take_message, NULL, MHD_OPTION_LISTEN_SOCKET, server->socket,
		MHD_OPTION_CONNECTION_LIMIT, HTTP_SERVER_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
		HTTP_SERVER_TIMEOUT, MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_SERVER_REQUEST_SIZE_MAX, MHD_OPTION_END);
	return server->daemon ? 0 : error_set(error, EIO, "cannot start the HTTP server");
}

void http_server_free(struct http_server *server)
{
	if (!server)
		return;
	if (server->daemon)
		MHD_stop_daemon(server->daemon); /* closes the socket */
	else if (server->socket >= 0)
		close(server->socket);
	free(server);
}
