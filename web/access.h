/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may read: whoever knows the token of the address that was printed, or has the cookie that a visit with the token
 * sets. Browsers send the cookies of 127.0.0.1 to every port, also to servers of other users, so the cookie is for a
 * folder whose name only those know who had the token.
 */
#pragma once

#include <stdbool.h>

#include "http/http_server.h"

#define ACCESS_SECRET_SIZE 65 /* 256 bits in hexadecimal, and NUL */

struct access {
	char token[ACCESS_SECRET_SIZE];
	char cookie[ACCESS_SECRET_SIZE]; /* the cookie */
	char folder[ACCESS_SECRET_SIZE + 1];
};

/* Makes new secrets. Returns false if libsodium cannot be used. */
bool access_init(struct access *access);

/*
 * Returns the path of a page below the folder, such as "overview.json" or "", if the request may read it. Otherwise
 * fills in the answer and returns NULL.
 */
const char *access_path(const struct access *access, const struct http_request *request, struct http_answer *answer);
