/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF program that observes threads that enter the observed functions, for inject.c. Owned by one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <bpf/libbpf.h>
#include <iaprof/host.h>
#include "caller.h"
#include "target_process.h"

/* Initialise with {0}. */
struct call_watch {
	const struct iaprof_host *host;
	struct inject_bpf *skeleton;
	struct ring_buffer *events;
	struct bpf_link *links[WATCHED_LIBRARIES_MAX * WATCHED_FUNCTIONS_MAX];
	size_t link_count;
	bool attached[WATCHED_LIBRARIES_MAX];
};

/*
 * Loads the program for a process. Each struct caller_event is passed to the callback. Returns 0 or the result of
 * host->fail(). Before the watch's thread runs.
 */
int call_watch_load(struct call_watch *watch, const struct iaprof_host *host, pid_t pid, ring_buffer_sample_fn take,
		    void *context);

/*
 * Attaches to functions that target_process_examine() found since the last call. Returns 0, or a negative errno with
 * some functions attached.
 */
int call_watch_attach(struct call_watch *watch, const struct target_process *target);
/* Detaches, which takes about 100 ms per function. */
void call_watch_detach(struct call_watch *watch);

/* Waits for events, at most for this many milliseconds. */
void call_watch_wait(struct call_watch *watch, int milliseconds);

/* Requests that the thread be stopped at its next call. */
void call_watch_arm(struct call_watch *watch, uint32_t thread);
/* Returns whether the thread was sent the stop signal, and if so, sets the signal and the address. */
bool call_watch_has_fired(const struct call_watch *watch, uint32_t thread, struct caller *caller);
/* Returns whether any thread was sent the signal and has not been armed again. */
bool call_watch_any_has_fired(const struct call_watch *watch);
/* Removes a thread that has ended. */
void call_watch_forget(struct call_watch *watch, uint32_t thread);
/* Disables stopping, also for armed threads. */
void call_watch_pause(struct call_watch *watch, bool pause);

void call_watch_free(struct call_watch *watch);
