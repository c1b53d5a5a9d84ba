/* SPDX-License-Identifier: Apache-2.0 */
/* See host_name.h. */
#include "http/host_name.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>

/* Longest host name: RFC 1035 allows 253 characters. */
#define NAME_SIZE 256u

/* Returns whether what follows a host is nothing, or a port. */
static bool is_port(const char *text)
{
	size_t digits = *text == ':' ? strspn(text + 1, "0123456789") : 0;
	return !*text || (*text == ':' && digits <= 5 && !text[1 + digits]);
}

static bool has_name(const char *header, const char *name, size_t length)
{
	return length && strncasecmp(header, name, length) == 0 && is_port(header + length);
}

bool http_host_is(const char *header, const char *name)
{
	return header && has_name(header, name, strlen(name));
}

bool http_host_is_address(const char *header)
{
	char host[NAME_SIZE];
	struct in6_addr address;
	if (!header)
		return false;
	bool is_bracketed = *header == '[';
	size_t length = strcspn(header + is_bracketed, is_bracketed ? "]" : ":");
	const char *end = header + is_bracketed + length;
	if (length >= sizeof host || (is_bracketed && *end != ']') || !is_port(end + is_bracketed))
		return false;
	memcpy(host, header + is_bracketed, length);
	host[length] = '\0';
	return inet_pton(is_bracketed ? AF_INET6 : AF_INET, host, &address) == 1;
}

bool http_host_is_machine(const char *header, const char *names)
{
	struct utsname machine;
	if (http_host_is(header, "localhost") || (uname(&machine) == 0 && http_host_is(header, machine.nodename)))
		return true;
	for (size_t length; header && names && *names; names += length) {
		names += strspn(names, " ");
		length = strcspn(names, " ");
		if (has_name(header, names, length))
			return true;
	}
	return false;
}
