/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the description of a plugin that was not built with iaprof in a process of its own, so that its constructors
 * cannot crash, block or end iaprof. The process is iaprof itself under another name.
 */
#pragma once

#include "plugin/loader.h"

/* argv[0] of the process; argv[1] is the plugin's path. */
#define PLUGIN_DESCRIPTION_PROGRAM "iaprof-plugin-description"

/* Runs in that process. Never returns. */
_Noreturn void plugin_description_main(const char *path);

/*
 * Returns the plugin with its description. Its callbacks must not be called before plugin_load_code(). Returns NULL on
 * failure, with error set as by plugin_load(). Any thread.
 */
struct plugin *plugin_description_read(const char *path, struct error *error);
