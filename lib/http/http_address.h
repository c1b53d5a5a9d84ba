/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of HTTP servers: "HOST:PORT", where HOST is an IP address, localhost, or nothing for all. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

#include "base/error.h"

struct http_address {
	struct sockaddr_storage socket;
	socklen_t size;
};

/* Returns 0, or -EINVAL and sets error. */
int http_address_read(struct http_address *address, const char *text, struct error *error);
/* Opens a socket that is bound to an address. Returns its descriptor, or a negative errno and sets error. */
int http_address_bind(const struct http_address *address, const char *text, struct error *error);
/*
 * Returns whether a server at an address answers a request for / with a body that begins with these words. Takes at
 * most some seconds.
 */
bool http_address_answers(const struct http_address *address, const char *words);
