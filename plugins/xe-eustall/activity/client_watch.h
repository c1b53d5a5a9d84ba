/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that reads DRM clients from /proc. Such a read may block in the driver without limit, as for a client that
 * destroys a hung queue, and is slow for a client with many buffer objects. The thread that drains the GPU's buffers
 * therefore uses what is available and never waits. All other calls are made on one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"
#include "busy_history.h"
#include "code_label.h"

struct client_watch;

/* A live client. */
struct client_state {
	uint64_t client; /* drm-client-id */
	uint32_t device; /* number of its PCI device */
	uint32_t pid;
	bool read; /* read again since it was found */
};

/* What was read since the last client_watch_take(). Initialise with {0}. */
struct client_news {
	uint64_t reading; /* when the clients were last read, CLOCK_MONOTONIC ns; 0: not since */
	ARRAY(struct busy_piece) pieces;
	ARRAY(struct client_state) clients; /* all clients at the last reading */
	uint64_t forgotten;                 /* pieces that did not fit */
	uint64_t left_out;                  /* clients that did not fit, since the start */
};

/* proc: the folder /proc. Returns NULL with errno set. */
struct client_watch *client_watch_new(const char *proc);

/* Adds a sampled PCI device; before the start. Returns its number, or -E2BIG. */
int client_watch_add_device(struct client_watch *watch, const char *address);

/* Starts the thread and waits a moment for the existing clients. Returns 0 or a negative errno. */
int client_watch_start(struct client_watch *watch);

/* Swaps the news with previous ones, whose memory is reused. Returns false, without a change, if there are none. */
bool client_watch_take(struct client_watch *watch, struct client_news *news);
void client_news_free(struct client_news *news);

/* Returns the label of a process's code, CODE_LABEL_NONE until it was determined. */
enum code_label client_watch_label(struct client_watch *watch, uint32_t pid, uint64_t now);

/* Requests an early search, because an unknown process uses the GPU; anew: the GPU was idle before. */
void client_watch_search(struct client_watch *watch, bool anew);

/*
 * Stops the thread and frees everything. A thread that does not stop within two seconds, because it is blocked in a
 * driver, keeps its memory and ends when it can. NULL is allowed.
 */
void client_watch_free(struct client_watch *watch);
