/* SPDX-License-Identifier: Apache-2.0 */
/* Loads one plugin file: permissions, the exported symbol, versions, mandatory members. */
#ifndef IAPROF_CORE_PLUGIN_LOADER_H
#define IAPROF_CORE_PLUGIN_LOADER_H

#include <stdbool.h>
#include <iaprof/plugin.h>

#include "base/error.h"
#include "config/option_table.h"

/* A loaded plugin. Its code stays loaded until the process ends, for its threads may outlive a failed stop. */
struct plugin {
	struct iaprof_plugin description; /* our own copy: members that the plugin does not have are zero */
	struct option_table options;
	char *path;
};

/*
 * Loads the file at path. NULL after a failure, with one line: what is wrong and what to do. The plugin is never
 * unloaded; plugin_free() frees the description only.
 */
struct plugin *plugin_load(const char *path, struct error *error);
void plugin_free(struct plugin *plugin);

/* Checks what a plugin says of itself and fills plugin from it; name is the one in its file name. Part of
 * plugin_load(). */
int plugin_take_description(struct plugin *plugin, const struct iaprof_plugin *theirs, const char *name,
			    struct error *error);

/* Whether iaprof has rights that its user might not have: then only files that nobody else can write are loaded. */
bool plugin_loading_is_privileged(void);

/* "source", "sink", "decoder". */
const char *plugin_kind_name(uint32_t kind);

/* NAME of a file name iaprof-NAME.so, copied; NULL when it is not of that form. The caller frees it. */
char *plugin_name_of_file(const char *path);

#endif
