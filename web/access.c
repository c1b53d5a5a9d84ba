/* SPDX-License-Identifier: Apache-2.0 */
/* See access.h. */
#include "access.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

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

/*
 * Returns whether the name in Host is one of this machine. A page of the internet whose name suddenly resolves to
 * 127.0.0.1 (DNS rebinding) has another one. The port may be that of a tunnel.
 */
static bool is_local_name(const char *host)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
	for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
		size_t length = strlen(names[i]);
		const char *port = host + length;
		if (strncasecmp(host, names[i], length) == 0 &&
		    (!*port || (*port == ':' && strlen(port) <= 6 && port[1 + strspn(port + 1, "0123456789")] == '\0')))
			return true;
	}
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
	if (!is_local_name(http_request_header(request, "Host"))) {
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
