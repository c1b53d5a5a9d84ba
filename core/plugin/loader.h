/* SPDX-License-Identifier: Apache-2.0 */
/* Loads one plugin file: permissions, the exported symbol, versions, mandatory members. */
#pragma once

#include <stdbool.h>
#include <iaprof/plugin.h>

#include "base/arena.h"
#include "base/error.h"
#include "config/option_table.h"

/* The operations of a plugin, whatever its kind: members that it lacks, or that another kind has, are zero. */
struct plugin_operations {
	/* Sources and sinks. */
	void (*check)(const struct iaprof_host *host, void *instance);
	int (*prepare)(const struct iaprof_host *host, void *instance);
	int (*start)(const struct iaprof_host *host, void *instance);
	int (*finish)(const struct iaprof_host *host, void *instance);
	/* Sources. */
	int (*probe)(const struct iaprof_host *host, void *instance);
	int (*stop)(const struct iaprof_host *host, void *instance);
	int (*thread)(const struct iaprof_host *host, void *instance, const volatile int *stopping);
	const char *const *companions;
	/* Sinks. */
	const char *extension;
	int (*records)(const struct iaprof_host *host, void *instance, const struct iaprof_batch *batch);
	int (*profile)(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile);
	struct iaprof_decoder_operations decoder;
};

/* A loaded plugin. Its code stays loaded until the process ends because its threads may outlive a failed stop. */
struct plugin {
	struct iaprof_plugin description; /* a copy: members that the plugin lacks are zero */
	struct plugin_operations operations;
	struct option_table options;
	char *path;
	bool is_foreign;     /* not built with iaprof */
	bool has_no_code;    /* only its description is known, see plugin_description.h */
	struct arena memory; /* of such a description */
};

/*
 * Loads the file at path. Returns NULL on failure, with error set to one line: the cause and the remedy. The plugin is
 * never unloaded; plugin_free() frees the description only.
 */
struct plugin *plugin_load(const char *path, struct error *error);
/* Loads a plugin of which only the description is known; otherwise does nothing. Returns 0 or a negative errno. */
int plugin_load_code(struct plugin *plugin, struct error *error);
void plugin_free(struct plugin *plugin);

/*
 * Fills plugin from a plugin's description, and validates it; name is taken from the file name. Returns 0 or a negative
 * errno. Part of plugin_load().
 */
int plugin_take_description(struct plugin *plugin, const struct iaprof_plugin *theirs, const char *name,
			    struct error *error);
/* Validates the description and the operations that plugin was filled with. The second part of that function. */
int plugin_check_description(struct plugin *plugin, const char *name, struct error *error);

/*
 * Checks the option table of a plugin: its rows, and that no option has the name of one that iaprof adds to each
 * instance of this kind. Returns 0 or a negative errno. Part of plugin_load().
 */
int plugin_check_options(const struct iaprof_plugin *description, struct error *error);

/*
 * Returns whether iaprof has privileges that its user may lack; then only files that no other user can write are
 * loaded.
 */
bool plugin_loading_is_privileged(void);

/* Returns 0, or -EPERM if users other than root and the caller can write the file or folder; error has the remedy. */
int plugin_check_owner(const char *path, struct error *error);

/* Returns "source", "sink" or "decoder". */
const char *plugin_kind_name(uint32_t kind);

/* Returns whether a plugin may have this name. */
bool plugin_is_name(const char *name);

/* Returns a copy of NAME from a file name iaprof-NAME.so, or NULL if the name does not match. The caller frees it. */
char *plugin_name_of_file(const char *path);
