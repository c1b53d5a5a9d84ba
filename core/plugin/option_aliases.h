/* SPDX-License-Identifier: Apache-2.0 */
/* Options of sources with an alias on iaprof's command line (iaprof/option.h, alias). */
#pragma once

#include "base/array.h"
#include "config/configuration.h"
#include "config/help.h"
#include "plugin/registry.h"

/* Initialise with {0} and the registry, which must outlive it. */
struct plugin_aliases {
	struct registry *registry;
	bool is_loaded;
	ARRAY(struct help_alias) items; /* each alias once: of the first plugin by name that has it */
	ARRAY(const char *) names;      /* names of the items; NULL-terminated */
};

/* Loads all plugins on the first call. Returns false when out of memory. */
bool plugin_aliases_load(struct plugin_aliases *aliases);
/* For configuration_read(): the context is a struct plugin_aliases. */
const char *const *plugin_aliases_list(void *context);
int plugin_aliases_add_folders(void *context, const char *folders, struct error *error);
void plugin_aliases_free(struct plugin_aliases *aliases);
