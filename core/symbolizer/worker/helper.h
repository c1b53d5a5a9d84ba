/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof's helper processes: programs installed with it, each started with one end of a channel
 * (symbolizer/worker/channel.h) as descriptor HELPER_SOCKET and no other descriptor, in its own session, so that Ctrl-C
 * on a terminal does not end it before the run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HELPER_SOCKET 3

/* Initialise with HELPER_NONE. */
struct helper {
	pid_t pid;      /* 0 if none */
	int socket;     /* iaprof's end; -1 if none */
	uint64_t spent; /* CPU time of stopped processes, in ns */
	/* At the last helper_cpu_time(): CPU time of the process, that of its ended children, and whether others ran.
	 */
	uint64_t own, ended;
	bool has_children;
};
#define HELPER_NONE ((struct helper){ .socket = -1 })

/*
 * Starts a helper program by its file name. arguments: command line, terminated by NULL; the first is the name. Returns
 * 0, or a negative errno: -ENOENT if it is not installed.
 */
int helper_start(struct helper *helper, char *const *arguments);
/* Closes the channel and kills the process, without waiting for one that is blocked in the Linux kernel. */
void helper_stop(struct helper *helper);
/* Returns the CPU time of all processes of this helper and their children, in ns. */
uint64_t helper_cpu_time(struct helper *helper);
