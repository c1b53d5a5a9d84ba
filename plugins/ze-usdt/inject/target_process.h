/* SPDX-License-Identifier: Apache-2.0 */
/* The process that a library is to be loaded into: whether it can be, and where its functions are. */
#ifndef IAPROF_ZE_USDT_INJECT_TARGET_PROCESS_H
#define IAPROF_ZE_USDT_INJECT_TARGET_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <iaprof/host.h>
#include "remote_call.h"

/* The loader's functions that are watched for a thread that enters one. */
#define LEVEL_ZERO_FUNCTIONS_MAX 32

struct target_process {
	pid_t pid;
	char library[PATH_MAX]; /* absolute, the same file for us and for the process */
	struct stat library_file;

	/* Set by target_process_look(). */
	bool has_library; /* it is loaded already */
	int loader;       /* descriptor of its libze_loader.so.1; -1 not mapped yet */
	size_t function_count;
	uint64_t function_offsets[LEVEL_ZERO_FUNCTIONS_MAX]; /* in the loader's file */
	struct remote_functions functions;
};

/*
 * Looks whether the library can be loaded into the process as far as that is known beforehand. Returns 0, or what
 * host->fail() returns after one line that says what is in the way and what to do.
 */
int target_process_check(struct target_process *target, const struct iaprof_host *host, pid_t pid, const char *library);

/*
 * Looks at the process's mappings: sets the members above. Returns 0, also when the loader is not mapped yet; a
 * negative errno with a line in message (size bytes) when it cannot be, -ESRCH when the process has ended. Any thread.
 */
int target_process_look(struct target_process *target, char *message, size_t message_size);

/*
 * Looks whether the library can be loaded on a thread of the process, which may have forbidden it since the check
 * above. Returns 0, or a negative errno with a line in message. Any thread.
 */
int target_process_check_thread(const struct target_process *target, pid_t thread, char *message, size_t message_size);

/* Why a thread of the process could not be traced, after PTRACE_SEIZE failed with error (positive). One line. */
void target_process_explain(pid_t pid, int error, char *message, size_t message_size);

void target_process_free(struct target_process *target);

#endif
