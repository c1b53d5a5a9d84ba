/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the DRM clients of all processes and reads, now and then, for how long each was busy. */
#ifndef IAPROF_XE_EUSTALL_CLIENT_SCAN_H
#define IAPROF_XE_EUSTALL_CLIENT_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include "client_usage.h"

/* Clients that are followed at once. */
#define CLIENTS_MAX 4096u

/* The device of a client whose device is not wanted: it is known, so it is never read again. */
#define CLIENT_FOREIGN UINT32_MAX

/* A client, by one of the descriptors that belong to it. */
struct client {
	uint32_t pid;
	uint32_t descriptor;
	uint64_t time;   /* of its last reading, CLOCK_MONOTONIC ns */
	uint32_t device; /* index of its address */
	bool read;       /* again, since it was found */
	bool seen;       /* by the search that goes on */
	struct client_usage usage;
};

struct client_scan {
	int proc; /* descriptor of the folder /proc, -1 none */
	struct client *clients;
	size_t count;
	size_t capacity;
	const char (*addresses)[PCI_ADDRESS_SIZE]; /* of the PCI devices that are wanted; the caller's */
	uint32_t address_count;
	uint64_t left_out; /* clients that there was no room for */
};

/* A client was busy between its last reading and now. Returns 0 or a negative errno, which ends the reading. */
typedef int client_busy_callback(void *context, const struct client *client, uint64_t now, uint64_t busy);

/* proc: the folder /proc. Returns 0 or a negative errno. */
int client_scan_init(struct client_scan *scan, const char *proc);

/* Calls back for each client that was busy since its last reading. Returns 0 or what the callback returned. */
int client_scan_read(struct client_scan *scan, uint64_t now, client_busy_callback *callback, void *context);

/* Looks for new clients, of all processes or of one. Returns how many were found. */
size_t client_scan_search(struct client_scan *scan, uint64_t now);
size_t client_scan_search_process(struct client_scan *scan, uint32_t pid, uint64_t now);

void client_scan_free(struct client_scan *scan);

#endif
