/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF program that sees threads of a process enter Level Zero, as inject.c uses it. One thread uses a watch. */
#ifndef IAPROF_ZE_USDT_INJECT_CALL_WATCH_H
#define IAPROF_ZE_USDT_INJECT_CALL_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/types.h>
#include <bpf/libbpf.h>
#include <iaprof/host.h>
#include "caller.h"
#include "target_process.h"

/* Initialise with {0}. */
struct call_watch {
	const struct iaprof_host *host;
	struct inject_bpf *skeleton;
	struct ring_buffer *events;
	struct bpf_link *links[LEVEL_ZERO_FUNCTIONS_MAX];
	size_t link_count; /* 0: not attached */
};

/*
 * Loads the program for a process. Each struct caller_event goes to take, as libbpf calls it back. 0, or what
 * host->fail() returns. Before the watch's thread runs.
 */
int call_watch_load(struct call_watch *watch, const struct iaprof_host *host, pid_t pid, ring_buffer_sample_fn take,
		    void *context);

/* Attaches to the functions that target_process_look() found. 0, or a negative errno with some functions attached. */
int call_watch_attach(struct call_watch *watch, const struct target_process *target);
/* Takes Linux some 100 ms for each function. */
void call_watch_detach(struct call_watch *watch);

/* Waits for events for this many milliseconds at most. */
void call_watch_wait(struct call_watch *watch, int milliseconds);

/* The thread is to be stopped at its next call. */
void call_watch_arm(struct call_watch *watch, uint32_t thread);
/* The thread was sent the signal that stops it: false when not. Says by which signal, and where. */
bool call_watch_has_fired(const struct call_watch *watch, uint32_t thread, struct caller *caller);
/* Whether any thread was, and is not armed again. */
bool call_watch_any_has_fired(const struct call_watch *watch);
/* The thread has ended. */
void call_watch_forget(struct call_watch *watch, uint32_t thread);
/* Whether threads that are armed are left alone all the same. */
void call_watch_pause(struct call_watch *watch, bool pause);

void call_watch_free(struct call_watch *watch);

#endif
