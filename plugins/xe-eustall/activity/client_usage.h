/* SPDX-License-Identifier: Apache-2.0 */
/* Parses /proc/PID/fdinfo/FD of a DRM client (Documentation/gpu/drm-usage-stats.rst). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCI_ADDRESS_SIZE 32u

/* The engines that execute instructions on Xe-cores: compute (ccs) and render (rcs). */
enum usage_engine { USAGE_COMPUTE = 0, USAGE_RENDER = 1, USAGE_ENGINES = 2 };

struct client_usage {
	char address[PCI_ADDRESS_SIZE]; /* drm-pdev */
	uint64_t client;                /* drm-client-id */
	bool known[USAGE_ENGINES];      /* both of the following are present */
	uint64_t cycles[USAGE_ENGINES]; /* drm-cycles-: the client's */
	uint64_t total[USAGE_ENGINES];  /* drm-total-cycles-: of the same clock, independent of the client */
};

/* Returns whether the text contains a PCI address and a client number. */
bool client_usage_parse(const char *text, size_t size, struct client_usage *usage);

/*
 * Returns a client's busy time within the time between two readings, or 0 if a number decreased because the device was
 * reset.
 */
uint64_t client_usage_busy(const struct client_usage *before, const struct client_usage *after, uint64_t time);
