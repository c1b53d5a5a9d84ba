/* SPDX-License-Identifier: Apache-2.0 */
/* The command that iaprof runs: made before the sources start, held before its exec until they have. */
#ifndef IAPROF_CORE_RUN_COMMAND_H
#define IAPROF_CORE_RUN_COMMAND_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/error.h"

/* The most bytes of changes to a command's environment: a pipe takes them (64 KiB) before anybody reads. */
#define COMMAND_ENVIRONMENT_SIZE_MAX 60000u

/* Initialise with COMMAND_INIT. */
struct command {
	const char *name;
	pid_t pid;                 /* 0: none */
	int descriptor;            /* pidfd, readable when it has ended */
	int release;               /* writing here lets it go on */
	int exec_error;            /* what its exec failed with is read from here */
	ARRAY(char *) environment; /* "NAME=VALUE" of what is changed; malloc'ed */
	struct rlimit open_files;  /* the command's limit */
	bool has_open_files;       /* else it is ours */
	bool ended;
	int status; /* of waitpid() */
};
#define COMMAND_INIT                                                                                                   \
	{                                                                                                              \
		.descriptor = -1, .release = -1, .exec_error = -1                                                      \
	}

/* Whether the command can be found: before anything is started. */
int command_check(char *const *arguments, struct error *error);

/* Forks the process, which waits. */
int command_hold(struct command *command, char *const *arguments, struct error *error);
/*
 * Changes a variable of the held command's environment; prepend: to "value:old". Returns 0, -EINVAL (the name), -E2BIG
 * or -ENOMEM.
 */
int command_set_environment(struct command *command, const char *name, const char *value, bool prepend);
/* Lets it execute. Fails when its exec does. */
int command_release(struct command *command, struct error *error);
/* Takes its status when it has ended; call when descriptor is readable. Returns command->ended. */
bool command_collect(struct command *command);
/* Ends a command that still runs: SIGTERM, and SIGKILL for one that was never released. */
void command_end(struct command *command);
void command_close(struct command *command);

/* "ended with status 3", "was killed by signal 9 (Killed)"; empty for status 0. */
void command_describe(const struct command *command, char *text, size_t size);

#endif
