/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Search path for plugins, in order of precedence: an explicit path; the folders of --plugin-path; the folders in
 * IAPROF_PLUGIN_PATH; the user's folder (~/.local/lib/iaprof/plugins); the build tree iaprof runs from, or the
 * installed folder. When iaprof is privileged, the environment and the user's folder are ignored.
 */
#pragma once

#include <pthread.h>

#include "base/array.h"
#include "plugin/loader.h"

/* A plugin file that was found; loaded on demand. */
struct registry_entry {
	char *name;
	char *path;
	bool is_named;         /* in a folder that the user named */
	bool is_read_apart;    /* as in struct registry */
	struct plugin *plugin; /* NULL: not loaded yet, or loading failed */
	struct error failure;  /* why loading failed; empty if it did not */
};

struct registry {
	ARRAY(struct registry_entry) entries; /* sorted by name */
	/*
	 * Plugins that were not built with iaprof are foreign (struct plugin): their descriptions are read as in
	 * plugin_description.h. Without it no plugin is foreign.
	 */
	bool reads_apart;
	/* Zeroed is unlocked. Decoders are loaded while a run goes on, and runs follow each other without a gap. */
	pthread_mutex_t lock;
};

/* Scans the folders. The caller zeroes registry. Returns 0 or -ENOMEM. */
int registry_scan(struct registry *registry, struct error *error);
/*
 * Adds the plugins in the folders of --plugin-path, separated by colons. They replace those of the same name in folders
 * that the user did not name. Returns 0, -EPERM if iaprof is privileged and others can write a folder, or another
 * negative errno if a folder cannot be read or has no plugin.
 */
int registry_add_folders(struct registry *registry, const char *list, struct error *error);
void registry_free(struct registry *registry);

#define REGISTRY_ANY_KIND 0

/*
 * Returns the plugin with this name, or with this path if it contains '/'; it must be of this kind. Returns NULL on
 * failure: error suggests the nearest name.
 */
struct plugin *registry_get(struct registry *registry, const char *name, uint32_t kind, struct error *error);

/* Returns the number of entries. */
size_t registry_count(struct registry *registry);
/* Returns the plugin of an entry, loading it if necessary; NULL if that fails. Any thread. */
struct plugin *registry_load(struct registry *registry, size_t entry, struct error *error);
