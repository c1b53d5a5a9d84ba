/* SPDX-License-Identifier: Apache-2.0 */
/* The command that iaprof runs: forked before the sources start and held before its exec until they have started. */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/error.h"
#include "child/child.h"

/* Limit on the changes to a command's environment, in bytes. */
#define COMMAND_ENVIRONMENT_SIZE_MAX 60000u

/* Initialise with COMMAND_INIT. */
struct command {
	const char *name;
	struct child child;
	ARRAY(char *) environment; /* "NAME=VALUE" of changed variables; malloc'ed */
	struct rlimit open_files;  /* the command's limit */
	bool has_open_files;       /* otherwise, iaprof's limit applies */
	bool is_held;              /* before its exec */
	int failure; /* the program could not be executed: status that a shell reports, 126 or 127; or 0 */
};
#define COMMAND_INIT                                                                                                   \
	{                                                                                                              \
		.child = CHILD_NONE                                                                                    \
	}

/* Checks that the command can be found, before anything is started. */
int command_check(char *const *arguments, struct error *error);
/* Returns the exit status of a shell for a program that could not be executed: 126 or 127; 0 for other errors. */
int command_failure(const struct error *error);

/* Forks the process, which waits before its exec. */
int command_hold(struct command *command, char *const *arguments, struct error *error);
/*
 * Changes a variable of the held command's environment; prepend: to "value:old". Returns 0, -EINVAL (the name), -E2BIG
 * or -ENOMEM.
 */
int command_set_environment(struct command *command, const char *name, const char *value, bool prepend);
/* Releases the command. Fails if its exec fails. */
int command_release(struct command *command, struct error *error);
/* Ends a command that is still running: SIGTERM, or SIGKILL if it was never released. */
void command_end(struct command *command);
void command_close(struct command *command);

/* Returns its exit status as shells report it, 128+N for signal N; 0 if iaprof's run ended before the command. */
int command_exit_status(const struct command *command);
/* Returns whether it has ended with another status than 0, and writes the cause as child_cause(). */
bool command_has_failed(const struct command *command, char text[CHILD_CAUSE_SIZE]);
