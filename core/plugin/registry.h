/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where plugins are found, first match first: an explicit path; the folders in IAPROF_PLUGIN_PATH; the user's folder
 * (~/.local/lib/iaprof/plugins); the build tree iaprof runs from, or the installed folder. When iaprof is privileged,
 * the environment and the user's folder are ignored.
 */
#ifndef IAPROF_CORE_PLUGIN_REGISTRY_H
#define IAPROF_CORE_PLUGIN_REGISTRY_H

#include "base/array.h"
#include "plugin/loader.h"

/* A plugin file that is there; loaded when somebody asks for it. */
struct registry_entry {
	char *name;
	char *path;
	struct plugin *plugin; /* NULL: not loaded yet, or it could not be */
};

struct registry {
	ARRAY(struct registry_entry) entries; /* sorted by name */
};

/* Looks through the folders. Zeroed by the caller. Returns 0 or -ENOMEM. */
int registry_scan(struct registry *registry, struct error *error);
void registry_free(struct registry *registry);

#define REGISTRY_ANY_KIND 0

/*
 * The plugin of this name, or of this path when it contains '/', which must be of this kind. NULL after a failure: the
 * message offers the nearest name.
 */
struct plugin *registry_get(struct registry *registry, const char *name, uint32_t kind, struct error *error);

/* The plugin of an entry, loaded now if need be. */
struct plugin *registry_load_entry(struct registry_entry *entry, struct error *error);

#endif
