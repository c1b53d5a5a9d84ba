/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the INI file that -c names. */
#pragma once

#include <stdbool.h>

/* Returns whether a name has no folder, so that it can be that of an installed example. */
bool config_file_is_name(const char *name);

/*
 * Returns the path of a file: a name without a folder is looked up in the current folder, then among the installed
 * examples. If there is none, the path is the name. Returns NULL when out of memory; the caller frees it.
 */
char *config_file_find(const char *name);

/*
 * Returns the path of an example, which the caller frees: in the build tree, relative to a relocated installation, or
 * as installed. NULL: it is not there.
 */
char *example_find(const char *name);
