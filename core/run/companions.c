/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the sources that others bring in: see companions.h. */
#include "run/companions.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "config/option_value.h"

bool companion_is_wanted(const struct instance *source, const char *name)
{
	const char *const *companions = source->plugin->description.companions;
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

/* The settings of a source that its companion has options for, of the same name and type. They stay the source's. */
static bool take_settings(struct instance_configuration *companion, const struct plugin *plugin,
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

static int add(struct setup *setup, const struct instance *source, const struct instance_configuration *wanted,
	       const char *name, struct registry *registry, struct instance_services *services, struct error *error)
{
	struct error problem = { 0 };
	const struct plugin *plugin = registry_get(registry, name, IAPROF_PLUGIN_SOURCE, &problem);
	if (!plugin) {
		log_message(IAPROF_LOG_WARNING, "source %s goes on without its companion: %s", source->name,
			    problem.text);
		return 0;
	}
	struct instance_configuration configuration = { .plugin = (char *)name };
	int result = 0;
	if (!take_settings(&configuration, plugin, wanted, source->plugin))
		result = error_set(error, ENOMEM, "out of memory");
	struct instance *companion = NULL;
	if (!result)
		result = setup_add_source(setup, &configuration, source, registry, services, &companion, error);
	if (result)
		error_wrap(error, "source %s brings in %s", source->name, name);
	else
		result = companions_add(setup, companion, &configuration, registry, services, error);
	array_free(&configuration.settings);
	return result;
}

int companions_add(struct setup *setup, const struct instance *source, const struct instance_configuration *wanted,
		   struct registry *registry, struct instance_services *services, struct error *error)
{
	const char *const *names = source->plugin->description.companions;
	int result = 0;
	for (; !result && names && *names; names++)
		if (companion_is_wanted(source, *names) && !is_there(setup, *names))
			result = add(setup, source, wanted, *names, registry, services, error);
	return result;
}
