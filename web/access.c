/* SPDX-License-Identifier: Apache-2.0 */
/* See access.h. */
#include "access.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "http/host_name.h"

#define COOKIE "iaprof"

static void make_secret(char secret[ACCESS_SECRET_SIZE])
{
	unsigned char bytes[(ACCESS_SECRET_SIZE - 1) / 2];
	randombytes_buf(bytes, sizeof bytes);
	sodium_bin2hex(secret, ACCESS_SECRET_SIZE, bytes, sizeof bytes);
	sodium_memzero(bytes, sizeof bytes);
}

bool access_init(struct access *access)
{
	if (sodium_init() < 0)
		return false;
	make_secret(access->token);
	make_secret(access->cookie);
	access->folder[0] = '/';
	make_secret(access->folder + 1);
	return true;
}

/* Compares in constant time. */
static bool is_secret(const char *given, const char secret[ACCESS_SECRET_SIZE])
{
	return given && strlen(given) == ACCESS_SECRET_SIZE - 1 &&
	       sodium_memcmp(given, secret, ACCESS_SECRET_SIZE - 1) == 0;
}

/* Returns whether a request names this machine (host_name.h). */
static bool is_local(const struct http_request *request)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (http_host_is(http_request_header(request, "Host"), names[i]))
			return true;
	return false;
}

static void welcome(const struct access *access, struct http_answer *answer)
{
	char text[4 * ACCESS_SECRET_SIZE];
	snprintf(text, sizeof text, COOKIE "=%s; Path=%s/; HttpOnly; SameSite=Strict", access->cookie, access->folder);
	http_answer_header(answer, "Set-Cookie", text);
	snprintf(text, sizeof text, "%s/", access->folder);
	http_answer_header(answer, "Location", text);
	http_answer_text(answer, 303, "");
}

const char *access_path(const struct access *access, const struct http_request *request, struct http_answer *answer)
{
	const char *path = http_request_path(request);
	size_t length = strlen(access->folder);
	if (!is_local(request)) {
		http_answer_text(answer, 421, "iaprof-web answers to 127.0.0.1, localhost and [::1] only\n");
		return NULL;
	}
	if (strcmp(path, "/") == 0 && is_secret(http_request_parameter(request, "token"), access->token)) {
		welcome(access, answer);
		return NULL;
	}
	if (strlen(path) > length && sodium_memcmp(path, access->folder, length) == 0 && path[length] == '/' &&
	    is_secret(http_request_cookie(request, COOKIE), access->cookie))
		return path + length + 1;
	http_answer_text(answer, 403,
			 "Access requires the address with the token that iaprof-web printed when it started"
			 " (service: sudo cat /run/iaprof-web/url)\n");
	return NULL;
}
