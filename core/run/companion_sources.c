/* SPDX-License-Identifier: Apache-2.0 */
/* Adds companion sources: see companion_sources.h. */
#include "run/companion_sources.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "config/option_value.h"

bool companion_source_is_wanted(const struct instance *source, const char *name)
{
	const char *const *companions = source->plugin->operations.companions;
	struct iaprof_option option;
	while (companions && *companions && strcmp(*companions, name))
		companions++;
	if (!companions || !*companions)
		return false;
	return !option_table_find(&source->plugin->options, name, &option) || option.type != IAPROF_OPTION_BOOL ||
	       *(const bool *)option_value_at(&option, source->memory);
}

static bool is_there(const struct setup *setup, const char *name)
{
	for (size_t i = 0; i < setup->sources.count; i++)
		if (!strcmp(setup->sources.items[i]->plugin->description.name, name))
			return true;
	return false;
}

/* Shares the settings of a source for which its companion has an option of the same name and type. */
static bool copy_settings(struct instance_configuration *companion, const struct plugin *plugin,
			  const struct instance_configuration *wanted, const struct plugin *source)
{
	for (size_t i = 0; i < wanted->settings.count; i++) {
		struct iaprof_option theirs, ours;
		const char *key = wanted->settings.items[i].key;
		if (option_table_find(&plugin->options, key, &ours) &&
		    option_table_find(&source->options, key, &theirs) && ours.type == theirs.type &&
		    !array_push(&companion->settings, wanted->settings.items[i]))
			return false;
	}
	return true;
}

static int add_companion(struct setup *setup, const struct instance *source,
			 const struct instance_configuration *wanted, const char *name, struct error *error)
{
	struct error problem = { 0 };
	const struct plugin *plugin = registry_get(setup->registry, name, IAPROF_PLUGIN_SOURCE, &problem);
	if (!plugin) {
		log_message(IAPROF_LOG_WARNING, "source %s runs without its companion: %s", source->name, problem.text);
		return 0;
	}
	struct instance_configuration configuration = { .plugin = (char *)name };
	int result = 0;
	if (!copy_settings(&configuration, plugin, wanted, source->plugin))
		result = error_set(error, ENOMEM, "out of memory");
	if (!result)
		result = setup_add_source(setup, &configuration, source, error);
	if (result)
		error_wrap(error, "source %s, companion %s", source->name, name);
	else
		result = companion_sources_add(setup, setup->sources.items[setup->sources.count - 1], &configuration,
					       error);
	array_free(&configuration.settings);
	return result;
}

int companion_sources_add(struct setup *setup, const struct instance *source,
			  const struct instance_configuration *wanted, struct error *error)
{
	const char *const *names = source->plugin->operations.companions;
	int result = 0;
	for (; !result && names && *names; names++)
		if (companion_source_is_wanted(source, *names) && !is_there(setup, *names))
			result = add_companion(setup, source, wanted, *names, error);
	return result;
}
