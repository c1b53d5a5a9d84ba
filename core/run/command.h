/* SPDX-License-Identifier: Apache-2.0 */
/* The command that iaprof runs: forked before the sources start and held before its exec until they have started. */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/error.h"

/* Limit on the changes to a command's environment, in bytes: they must fit into a pipe (64 KiB) before it is read. */
#define COMMAND_ENVIRONMENT_SIZE_MAX 60000u

/* Initialise with COMMAND_INIT. */
struct command {
	const char *name;
	pid_t pid;                 /* 0: none */
	int descriptor;            /* pidfd, readable when it has ended */
	int release;               /* a write to it releases the command */
	int exec_error;            /* errno of a failed exec is read from it */
	ARRAY(char *) environment; /* "NAME=VALUE" of changed variables; malloc'ed */
	struct rlimit open_files;  /* the command's limit */
	bool has_open_files;       /* otherwise, iaprof's limit applies */
	bool ended;
	int status; /* exit status from waitpid() */
};
#define COMMAND_INIT                                                                                                   \
	{                                                                                                              \
		.descriptor = -1, .release = -1, .exec_error = -1                                                      \
	}

/* Checks that the command can be found, before anything is started. */
int command_check(char *const *arguments, struct error *error);

/* Forks the process, which waits before its exec. */
int command_hold(struct command *command, char *const *arguments, struct error *error);
/*
 * Changes a variable of the held command's environment; prepend: to "value:old". Returns 0, -EINVAL (the name), -E2BIG
 * or -ENOMEM.
 */
int command_set_environment(struct command *command, const char *name, const char *value, bool prepend);
/* Releases the command. Fails if its exec fails. */
int command_release(struct command *command, struct error *error);
/* Reads the exit status of a command that has ended; call when descriptor is readable. Returns command->ended. */
bool command_collect(struct command *command);
/* Ends a command that is still running: SIGTERM, or SIGKILL if it was never released. */
void command_end(struct command *command);
void command_close(struct command *command);

/* Writes "ended with status 3" or "was killed by signal 9 (Killed)"; an empty text for status 0. */
void command_describe(const struct command *command, char *text, size_t size);
