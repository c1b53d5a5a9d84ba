/* SPDX-License-Identifier: Apache-2.0 */
/* What a file /proc/PID/fdinfo/FD says of a DRM client (Documentation/gpu/drm-usage-stats.rst), bytes in, values out.
 */
#ifndef IAPROF_XE_EUSTALL_CLIENT_USAGE_H
#define IAPROF_XE_EUSTALL_CLIENT_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCI_ADDRESS_SIZE 32u

/* The engines that execute instructions on Xe-cores: compute (ccs) and render (rcs). */
enum usage_engine { USAGE_COMPUTE = 0, USAGE_RENDER = 1, USAGE_ENGINES = 2 };

struct client_usage {
	char address[PCI_ADDRESS_SIZE]; /* drm-pdev */
	uint64_t client;                /* drm-client-id */
	bool known[USAGE_ENGINES];      /* both of the following were there */
	uint64_t cycles[USAGE_ENGINES]; /* drm-cycles-: the client's */
	uint64_t total[USAGE_ENGINES];  /* drm-total-cycles-: of the same clock, whoever used the engine */
};

/* Returns whether the text has a PCI address and a client's number. */
bool client_usage_parse(const char *text, size_t size, struct client_usage *usage);

/*
 * For how long a client was busy within a time that it was looked at the beginning and at the end of. 0 where a number
 * went backwards: the device was reset.
 */
uint64_t client_usage_busy(const struct client_usage *before, const struct client_usage *after, uint64_t time);

#endif
