/* SPDX-License-Identifier: Apache-2.0 */
/* iaprof's helper processes: programs installed with it, each with a channel as its only descriptor. */
#pragma once

#include "child/child.h"

/*
 * Starts a helper program by its file name. child: none, or one that was closed. arguments: command line, terminated by
 * NULL; the first is the name. Returns 0, or a negative errno: -ENOENT if it is not installed.
 */
int helper_start(struct child *child, char *const *arguments);

/* Returns the path of a helper program, which the caller frees, or NULL if it is not installed. */
char *helper_path(const char *name);
