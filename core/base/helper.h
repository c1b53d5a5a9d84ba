/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof's own helper processes: programs installed with it, each started with one end of a channel (base/channel.h) as
 * descriptor HELPER_SOCKET and no other descriptor, in a session of its own so that a terminal's Ctrl-C does not end
 * them before the run does.
 */
#ifndef IAPROF_CORE_BASE_HELPER_H
#define IAPROF_CORE_BASE_HELPER_H

#include <stdint.h>
#include <sys/types.h>

#define HELPER_SOCKET 3

/* Initialise with HELPER_NONE. */
struct helper {
	pid_t pid;      /* 0 none */
	int socket;     /* our end; -1 none */
	uint64_t spent; /* ns of CPU time of those that were stopped */
};
#define HELPER_NONE ((struct helper){ .socket = -1 })

/*
 * Starts a helper program by its file name. arguments: end with NULL; the first is the name. Returns 0, or a negative
 * errno: -ENOENT when it is not installed.
 */
int helper_start(struct helper *helper, char *const *arguments);
/* Closes the channel and ends the process at once, without waiting for one that is blocked in the Linux kernel. */
void helper_stop(struct helper *helper);
/* ns of CPU time that all processes of this helper used, and those that they made and waited for. */
uint64_t helper_cpu_time(const struct helper *helper);

#endif
