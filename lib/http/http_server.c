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
#include "http/acceptor.h"
#include "http/http_address.h"

/* Connections that wait in the Linux kernel. */
#define BACKLOG 1024
/* Bytes of an answer that the Linux kernel keeps for a client that reads slowly, while another client is answered. */
#define SEND_BUFFER_SIZE (1 << 20)
/* libmicrohttpd still counts connections that it has reported as closed. */
#define DAEMON_CONNECTIONS_MAX (2 * HTTP_SERVER_CONNECTIONS_MAX)

struct http_server {
	unsigned flags;
	int socket;
	struct MHD_Daemon *daemon;
	struct acceptor *acceptor;
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
	if (setsockopt(server->socket, SOL_SOCKET, SO_SNDBUF, &(int){ SEND_BUFFER_SIZE }, sizeof(int)) ||
	    listen(server->socket, BACKLOG)) {
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
	/* The next request would come on a connection that is not one of the acceptor's any more. */
	if (result == MHD_YES)
		result = MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
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

static void take_state(void *context, struct MHD_Connection *connection, void **state,
		       enum MHD_ConnectionNotificationCode code)
{
	struct http_server *server = context;
	if (code == MHD_CONNECTION_NOTIFY_CLOSED)
		acceptor_release(server->acceptor);
}

static bool take_connection(void *context, int socket)
{
	struct http_server *server = context;
	struct sockaddr_storage address;
	socklen_t length = sizeof address;
	if (!getpeername(socket, (struct sockaddr *)&address, &length))
		return MHD_add_connection(server->daemon, socket, (struct sockaddr *)&address, length) == MHD_YES;
	close(socket);
	return false;
}

int http_server_start(struct http_server *server, http_handler *handler, void *context, struct error *error)
{
	/* MHD polls a thread's one socket with poll(2). */
	unsigned threads =
		server->flags & HTTP_SERVER_THREADED ? MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL : MHD_USE_EPOLL;
	server->handler = handler;
	server->context = context;
	server->daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC | threads | MHD_USE_ERROR_LOG,
		0, NULL, NULL, take_request, server, MHD_OPTION_EXTERNAL_LOGGER, take_message, NULL,
		MHD_OPTION_NOTIFY_CONNECTION, take_state, server, MHD_OPTION_CONNECTION_LIMIT, DAEMON_CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, HTTP_SERVER_TIMEOUT, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		HTTP_SERVER_REQUEST_SIZE_MAX, MHD_OPTION_END);
	const struct acceptor_options options = { .listener = server->socket,
						  .request_size = HTTP_SERVER_REQUEST_SIZE_MAX,
						  .answered_max = HTTP_SERVER_CONNECTIONS_MAX,
						  .pass = take_connection,
						  .context = server };
	int result = server->daemon ? acceptor_start(&server->acceptor, &options) : -EIO;
	return result ? error_set(error, -result, "cannot start the HTTP server") : 0;
}

void http_server_free(struct http_server *server)
{
	if (!server)
		return;
	if (server->acceptor)
		acceptor_stop(server->acceptor);
	if (server->daemon)
		MHD_stop_daemon(server->daemon);
	acceptor_free(server->acceptor);
	if (server->socket >= 0)
		close(server->socket);
	free(server);
}
