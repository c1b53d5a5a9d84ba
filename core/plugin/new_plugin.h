/* SPDX-License-Identifier: Apache-2.0 */
/* --new-plugin: writes the folder of a new plugin from the installed example of its kind. */
#pragma once

#include "base/error.h"

/*
 * Writes the folder iaprof-NAME into the current folder, with the source code, build file and test of a plugin of this
 * kind, "source", "sink" or "decoder", and prints how to build it. Returns 0, -EINVAL for an unknown kind or a wrong
 * name, -EEXIST if there is such a file or folder, or another negative errno; the folder is removed then.
 */
int new_plugin_write(const char *kind, const char *name, struct error *error);
