/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that reads what /proc says of DRM clients. Such a read may wait without limit in the driver, as for a client
 * that destroys a hung queue, and takes long for one with many buffer objects: who drains the GPU's buffers takes what
 * is there, and never waits for it. All calls but the thread's own are made on one thread at a time.
 */
#ifndef IAPROF_XE_EUSTALL_CLIENT_WATCH_H
#define IAPROF_XE_EUSTALL_CLIENT_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "busy_history.h"
#include "code_label.h"

struct client_watch;

/* A client that lives. */
struct client_state {
	uint64_t client; /* drm-client-id */
	uint32_t device; /* number of its PCI device */
	uint32_t pid;
	bool read; /* again, since it was found */
};

/* What was read since it was taken last; initialise with {0}. */
struct client_news {
	uint64_t reading; /* when the clients were read last, CLOCK_MONOTONIC ns; 0: not since */
	struct busy_piece *pieces;
	size_t piece_count, piece_capacity;
	struct client_state *clients; /* all of them, at the last reading */
	size_t client_count, client_capacity;
	uint64_t forgotten; /* pieces that there was no room for */
	uint64_t left_out;  /* clients that there was no room for, since the start */
};

/* proc: the folder /proc. NULL with errno. */
struct client_watch *client_watch_new(const char *proc);

/* A PCI device whose clients are wanted; before the start. Returns its number, or -E2BIG. */
int client_watch_add_device(struct client_watch *watch, const char *address);

/* Begins, and waits a moment for the clients that are there. Returns 0 or a negative errno. */
int client_watch_start(struct client_watch *watch);

/* Swaps the news with those taken before, whose memory is used again. False, and nothing changed: there are none. */
bool client_watch_take(struct client_watch *watch, struct client_news *news);
void client_news_free(struct client_news *news);

/* What is known of the code of a process; the first time nothing, until it was looked at. */
enum code_label client_watch_label(struct client_watch *watch, uint32_t pid, uint64_t now);

/* The GPU is used by nobody who is known, anew: and was not used before. Clients are looked for sooner. */
void client_watch_search(struct client_watch *watch, bool anew);

/*
 * Ends the thread and frees everything. A thread that does not end within two seconds, as it waits in a driver, keeps
 * its memory, and ends when it can. NULL is nothing to free.
 */
void client_watch_free(struct client_watch *watch);

#endif
