/* SPDX-License-Identifier: Apache-2.0 */
/* Aliases of options: see option_aliases.h. */
#include "plugin/option_aliases.h"

#include <string.h>

#include "config/option_value.h"

static bool has(const struct plugin_aliases *aliases, const char *name)
{
	for (size_t i = 0; i < aliases->items.count; i++)
		if (strcmp(aliases->items.items[i].option.alias, name) == 0)
			return true;
	return false;
}

static bool add_of_plugin(struct plugin_aliases *aliases, const struct plugin *plugin)
{
	for (size_t i = 0; plugin->description.kind == IAPROF_PLUGIN_SOURCE && i < plugin->options.count; i++) {
		struct help_alias alias = { plugin->description.name, option_at(&plugin->options, i) };
		if (!alias.option.alias || has(aliases, alias.option.alias))
			continue;
		if (!array_push(&aliases->items, alias) || !array_push(&aliases->names, alias.option.alias))
			return false;
	}
	return true;
}

bool plugin_aliases_load(struct plugin_aliases *aliases)
{
	for (size_t i = 0; !aliases->is_loaded && i < registry_count(aliases->registry); i++) {
		/* Plugins that cannot be loaded are skipped. */
		const struct plugin *plugin = registry_load(aliases->registry, i, &(struct error){ 0 });
		if (plugin && !add_of_plugin(aliases, plugin))
			return false;
	}
	if (!aliases->is_loaded && !array_push(&aliases->names, NULL))
		return false;
	aliases->is_loaded = true;
	return true;
}

const char *const *plugin_aliases_list(void *context)
{
	struct plugin_aliases *aliases = context;
	return plugin_aliases_load(aliases) ? aliases->names.items : NULL;
}

int plugin_aliases_add_folders(void *context, const char *folders, struct error *error)
{
	struct plugin_aliases *aliases = context;
	plugin_aliases_free(aliases);
	aliases->is_loaded = false;
	return registry_add_folders(aliases->registry, folders, error);
}

void plugin_aliases_free(struct plugin_aliases *aliases)
{
	array_free(&aliases->items);
	array_free(&aliases->names);
}
