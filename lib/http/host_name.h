/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header Host of a request. A page of the internet whose name suddenly resolves to an address of this machine (DNS
 * rebinding) can read answers, unless the server refuses names that are not its own.
 */
#pragma once

#include <stdbool.h>

/* Returns whether a header names this host, without case. It may have any port, for example that of a tunnel. */
bool http_host_is(const char *header, const char *name);
/* Returns whether a header is an IP address, which no DNS server can direct elsewhere. */
bool http_host_is_address(const char *header);
/* Returns whether a header names localhost, this machine as uname(2) does, or one of names (by spaces; NULL: none). */
bool http_host_is_machine(const char *header, const char *names);
