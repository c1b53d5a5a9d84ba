/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a server that a sink sends to, for configure() of the sink. */
#pragma once

#include <iaprof/host.h>

/* An option or a variable of the environment, as messages name it. */
struct server_setting {
	const char *name;
	const char *value; /* NULL: not set */
};

struct server_settings {
	struct server_setting url, headers, certificate;
	const char *whole_url; /* to which requests are sent: the URL with a path */
};

/*
 * Checks a URL, a list of headers (headers.h) and a file of certificates (PEM), without connecting. Returns 0, or a
 * negative errno after host->fail().
 */
int server_settings_check(const struct iaprof_host *host, const struct server_settings *settings);
