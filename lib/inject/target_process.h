/* SPDX-License-Identifier: Apache-2.0 */
/* The process that a library is to be loaded into: whether this is possible, and the addresses of its functions. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <iaprof/host.h>
#include "inject.h"
#include "remote_call.h"

/* A library with functions to observe: the first of its name that a process maps. */
struct watched_library {
	int descriptor; /* -1: not mapped yet */
	size_t function_count;
	uint64_t function_offsets[WATCHED_FUNCTIONS_MAX]; /* in the file */
};

struct target_process {
	pid_t pid;
	const struct injection_request *request; /* borrowed */
	char library[PATH_MAX];                  /* absolute */
	int library_descriptor; /* if the process does not see the same file under this path; otherwise -1 */
	struct stat library_file;

	/* Set by target_process_examine(). */
	bool has_library;         /* it is already loaded */
	uint64_t loaded_function; /* then the address of the function to call; 0: it has none */
	struct watched_library watched[WATCHED_LIBRARIES_MAX];
	struct remote_functions functions;
};

/*
 * Checks whether the library can be loaded into the process, as far as known beforehand. Returns 0, or the result of
 * host->fail().
 */
int target_process_check(struct target_process *target, const struct iaprof_host *host,
			 const struct injection_request *request);

/*
 * Reads the process's mappings and sets the members above. Returns 0, even if no library to observe is mapped yet; a
 * negative errno with a message of at most size bytes on failure, -ESRCH if the process has exited. Any thread.
 */
int target_process_examine(struct target_process *target, char *message, size_t message_size);

/* Returns whether a library to observe is mapped. */
bool target_process_is_watchable(const struct target_process *target);

/*
 * Checks whether the library can be loaded on a thread of the process, which may have changed since the check above.
 * Returns 0, or a negative errno with a message. The thread is stopped, and traced by the calling one.
 */
int target_process_check_thread(const struct target_process *target, pid_t thread, char *message, size_t message_size);

/* Explains in one line why PTRACE_SEIZE of a thread failed with error (positive). */
void target_process_explain(pid_t pid, int error, char *message, size_t message_size);

void target_process_free(struct target_process *target);
