/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the DRM clients of all processes and reads their busy times. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "base/array.h"
#include "client_usage.h"

/* Maximum number of clients. */
#define CLIENTS_MAX 4096u

/* Device of a client that uses a device that is not sampled: its statistics are not read again. */
#define CLIENT_FOREIGN UINT32_MAX

/* A client, identified by one of its descriptors. */
struct client {
	uint32_t pid;
	uint32_t descriptor;
	uint64_t time;   /* time of its last reading, CLOCK_MONOTONIC ns */
	uint32_t device; /* index of its address */
	bool read;       /* read again since it was found */
	bool seen;       /* found by the current search */
	struct client_usage usage;
};

struct client_scan {
	int proc; /* descriptor of the folder /proc, -1 if none */
	ARRAY(struct client) clients;
	const char (*addresses)[PCI_ADDRESS_SIZE]; /* addresses of the sampled PCI devices; borrowed */
	uint32_t address_count;
	uint64_t left_out; /* clients that did not fit */
};

/*
 * Reports that a client was busy between its last reading and now. Returns 0 or a negative errno, which stops reading.
 */
typedef int client_busy_callback(void *context, const struct client *client, uint64_t now, uint64_t busy);

/* proc: the folder /proc. Returns 0 or a negative errno. */
int client_scan_init(struct client_scan *scan, const char *proc);

/* Calls back for each client that was busy since its last reading. Returns 0 or the callback's result. */
int client_scan_read(struct client_scan *scan, uint64_t now, client_busy_callback *callback, void *context);

/* Searches for new clients, of all processes or of one. Returns the number found. */
size_t client_scan_search(struct client_scan *scan, uint64_t now);
size_t client_scan_search_process(struct client_scan *scan, uint32_t pid, uint64_t now);

void client_scan_free(struct client_scan *scan);
