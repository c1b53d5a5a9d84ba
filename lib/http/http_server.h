/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP server on threads of its own: a client that is slow or hostile delays nothing else. It only reads. */
#pragma once

#include <stdbool.h>

#include "base/array.h"
#include "base/error.h"
#include "text/text.h"

/*
 * Limits: requests that are answered at a time, bytes of a request, seconds in which a client reads nothing of its
 * answer. acceptor.h has those of connections whose request has not arrived. Each connection is for one request.
 */
#define HTTP_SERVER_CONNECTIONS_MAX 16u
#define HTTP_SERVER_REQUEST_SIZE_MAX ((size_t)16 << 10)
#define HTTP_SERVER_TIMEOUT 10u
/* Size of an address as "HOST:PORT" or "[HOST]:PORT". */
#define HTTP_SERVER_ADDRESS_SIZE 72u

enum http_server_flag {
	HTTP_SERVER_LOOPBACK = 1u << 0, /* refuses addresses that other machines can reach */
	HTTP_SERVER_THREADED = 1u << 1  /* a thread for each connection: a request may take long */
};

/* A GET or HEAD request; valid while it is handled. Names of headers are compared without case. */
struct http_request;
/* The path, unescaped. */
const char *http_request_path(const struct http_request *request);
/* These return NULL for what the request does not have. */
const char *http_request_header(const struct http_request *request, const char *name);
const char *http_request_cookie(const struct http_request *request, const char *name);
/* Returns "" for a value with a NUL in it. */
const char *http_request_parameter(const struct http_request *request, const char *name);
/* Extends the timeout of a request to this many seconds, in which the client receives nothing. */
void http_request_extend(struct http_request *request, unsigned seconds);

struct http_header {
	const char *name;
	char *value;
};

struct http_answer {
	unsigned status;  /* 200 unless it is set */
	const char *type; /* of the body; plain text unless it is set */
	struct text body;
	ARRAY(struct http_header) headers;
};
/* Adds a header; when out of memory, the answer becomes an error. The name is not copied. */
void http_answer_header(struct http_answer *answer, const char *name, const char *value);
/* Sets the status and a body of plain text. */
void http_answer_text(struct http_answer *answer, unsigned status, const char *text);

/* Fills in the answer. Called on a thread of the server; with HTTP_SERVER_THREADED, on several at a time. */
typedef void http_handler(void *context, struct http_request *request, struct http_answer *answer);

struct http_server;

/* Listens on an address (http_address.h) without answering yet. flags: of enum http_server_flag. Returns NULL with an
 * error. */
struct http_server *http_server_listen(const char *address, unsigned flags, struct error *error);
/* Writes the address that it listens on, whose port is not 0. */
void http_server_address(const struct http_server *server, char address[HTTP_SERVER_ADDRESS_SIZE]);
/* Starts to answer. Returns 0 or a negative errno. */
int http_server_start(struct http_server *server, http_handler *handler, void *context, struct error *error);
/* Closes all connections, and ends the threads. server may be NULL. */
void http_server_free(struct http_server *server);
