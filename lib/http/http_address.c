/* SPDX-License-Identifier: Apache-2.0 */
/* See http_address.h. */
#include "http/http_address.h"

#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define TEXT_SIZE 256u
/* Longest time of a connection, of a request, and of an answer, in seconds. */
#define PATIENCE 5
#define ANSWER_SIZE_MAX 4096u

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

int http_address_read(struct http_address *address, const char *text, struct error *error)
{
	char copy[TEXT_SIZE], *port = NULL;
	const struct addrinfo wanted = { .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
					 .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	if (strlen(text) >= sizeof copy)
		return error_set(error, EINVAL, "address is too long");
	strcpy(copy, text);
	const char *name = split(copy, &port);
	if (name && strcmp(name, "localhost") == 0)
		name = "127.0.0.1";
	if (!name || strlen(port) > 5 || strtoul(port, NULL, 10) > UINT16_MAX ||
	    getaddrinfo(*name ? name : NULL, port, &wanted, &found))
		return error_set(error, EINVAL, "address %s: not an IP address with a port, such as 127.0.0.1:9859",
				 text);
	*address = (struct http_address){ .size = found->ai_addrlen };
	memcpy(&address->socket, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return 0;
}

int http_address_bind(const struct http_address *address, const char *text, struct error *error)
{
	CLEANUP_CLOSE int made = socket(address->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (made < 0 || setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) ||
	    bind(made, (const struct sockaddr *)&address->socket, address->size)) {
		int code = errno;
		return error_set(error, code, "cannot listen on %s: %s", text, strerror(code));
	}
	return STEAL_DESCRIPTOR(made);
}

bool http_address_answers(const struct http_address *address, const char *words)
{
	static const char request[] = "GET / HTTP/1.0\r\n\r\n";
	const struct timeval patience = { .tv_sec = PATIENCE };
	char answer[ANSWER_SIZE_MAX + 1];
	size_t size = 0;
	CLEANUP_CLOSE int client = socket(address->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client < 0 || setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) ||
	    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) ||
	    connect(client, (const struct sockaddr *)&address->socket, address->size) ||
	    send(client, request, sizeof request - 1, MSG_NOSIGNAL) != (ssize_t)sizeof request - 1)
		return false;
	/* An unknown program may send a byte at a time. */
	uint64_t end = clock_monotonic() + PATIENCE * NANOSECONDS_PER_SECOND;
	for (ssize_t got = 1; got > 0 && size < ANSWER_SIZE_MAX && clock_monotonic() < end;) {
		got = recv(client, answer + size, ANSWER_SIZE_MAX - size, 0);
		size += got > 0 ? (size_t)got : 0;
	}
	answer[size] = '\0';
	const char *body = strstr(answer, "\r\n\r\n");
	return body && strncmp(body + 4, words, strlen(words)) == 0;
}
