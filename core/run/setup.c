/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the instances of a run: see setup.h. */
#include "run/setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "run/companions.h"

/* The name of the file that a run without -o and without --sink leaves in the current folder. */
#define DEFAULT_OUTPUT "iaprof.folded"
#define PAGE_EXTENSION ".html"

#define INSTANCES_MAX 1000

/* Another instance of the plugin, configured; NULL after a failure. */
static struct instance *make(struct setup *setup, const struct instance_configuration *wanted, uint32_t kind,
			     struct registry *registry, struct instance_services *services, struct error *error)
{
	struct plugin *plugin = registry_get(registry, wanted->plugin, kind, error);
	if (!plugin) {
		if (wanted->origin)
			error_wrap(error, "%s", wanted->origin);
		return NULL;
	}
	size_t number = setup->sources.count + setup->sinks.count + 1;
	if (number > INSTANCES_MAX) {
		error_set(error, E2BIG, "more than %d sources and sinks", INSTANCES_MAX);
		return NULL;
	}
	return instance_new(plugin, wanted, (uint16_t)number, services, error);
}

/* As make(), with the settings for all sources that the plugin has options for. */
static struct instance *make_source(struct setup *setup, const struct instance_configuration *wanted,
				    struct registry *registry, struct instance_services *services, struct error *error)
{
	const struct plugin *plugin =
		registry_get(registry, wanted->plugin, IAPROF_PLUGIN_SOURCE, &(struct error){ 0 });
	struct instance_configuration all = *wanted;
	struct iaprof_option option;
	bool complete = true;
	all.settings = (__typeof__(all.settings)){ 0 };
	for (size_t i = 0; i < wanted->settings.count; i++)
		complete = complete && array_push(&all.settings, wanted->settings.items[i]);
	/* After its own, so that they count. */
	for (size_t i = 0; plugin && i < setup->configuration->source_settings.count; i++) {
		const struct setting *setting = &setup->configuration->source_settings.items[i];
		if (option_table_find(&plugin->options, setting->key, &option))
			complete = complete && array_push(&all.settings, *setting);
	}
	struct instance *source = NULL;
	if (complete)
		source = make(setup, &all, IAPROF_PLUGIN_SOURCE, registry, services, error);
	else
		error_set(error, ENOMEM, "out of memory");
	array_free(&all.settings);
	return source;
}

/* A setting for all sources is a mistake when none of them has the option. */
static int check_source_settings(const struct setup *setup, struct error *error)
{
	for (size_t i = 0; i < setup->configuration->source_settings.count; i++) {
		const struct setting *setting = &setup->configuration->source_settings.items[i];
		struct iaprof_option option;
		bool taken = false;
		for (size_t k = 0; !taken && k < setup->sources.count; k++)
			taken = option_table_find(&setup->sources.items[k]->plugin->options, setting->key, &option);
		if (!taken)
			return error_set(error, EINVAL,
					 "%s: no source of this run has the key %s: add one with --source",
					 setting->origin, setting->key);
	}
	return 0;
}

int setup_add_source(struct setup *setup, const struct instance_configuration *wanted,
		     const struct instance *brought_by, struct registry *registry, struct instance_services *services,
		     struct instance **added, struct error *error)
{
	struct instance *source = make_source(setup, wanted, registry, services, error);
	if (!source)
		return error->code;
	source->brought_by = brought_by;
	if (!array_push(&setup->sources, source)) {
		instance_free(source);
		return error_set(error, ENOMEM, "out of memory");
	}
	if (added)
		*added = source;
	return instance_configure(source, error);
}

static int add_sink(struct setup *setup, const struct instance_configuration *wanted, const char *output,
		    struct registry *registry, struct instance_services *services, struct error *error)
{
	struct instance *sink = make(setup, wanted, IAPROF_PLUGIN_SINK, registry, services, error);
	if (!sink)
		return error->code;
	if (!array_push(&setup->sinks, sink)) {
		instance_free(sink);
		return error_set(error, ENOMEM, "out of memory");
	}
	bool has_output = !(sink->plugin->description.flags & IAPROF_PLUGIN_NO_OUTPUT);
	if (setup->configuration->before_path && !(sink->plugin->description.flags & IAPROF_PLUGIN_DIFFERENCES))
		return error_set(error, EINVAL,
				 "--diff: sink %s cannot show differences: choose folded, flamegraph or csv, or write "
				 "each file with --replay and compare with the tool that reads it",
				 sink->name);
	if (output && !has_output)
		return error_set(error, EINVAL, "-o %s: sink %s writes no file", output, sink->name);
	int result = output ? output_target_set(&sink->output, output, error) : 0;
	if (!result && has_output && !sink->output.path)
		result = output_target_set(&sink->output, "-", error);
	return result ? result : instance_configure(sink, error);
}

/* An instance that no user wrote down: a plugin's name, and one setting or none. */
static struct instance_configuration implied(const char *plugin, struct setting *setting)
{
	struct instance_configuration configuration = { .plugin = (char *)plugin };
	if (setting) {
		configuration.settings.items = setting;
		configuration.settings.count = 1;
	}
	return configuration;
}

/* Every source that may be chosen by itself. */
static int add_sources_of_machine(struct setup *setup, struct registry *registry, struct instance_services *services,
				  struct error *error)
{
	setup->sources_by_probe = true;
	for (size_t i = 0; i < registry->entries.count; i++) {
		struct error problem = { 0 };
		const struct plugin *plugin = registry_load_entry(&registry->entries.items[i], &problem);
		if (!plugin) {
			log_message(IAPROF_LOG_WARNING, "%s", problem.text);
			continue;
		}
		if (plugin->description.kind != IAPROF_PLUGIN_SOURCE ||
		    (plugin->description.flags & (IAPROF_PLUGIN_ONLY_BY_NAME | IAPROF_PLUGIN_REPLAYS)))
			continue;
		struct instance_configuration wanted = implied(plugin->description.name, NULL);
		int result = setup_add_source(setup, &wanted, NULL, registry, services, NULL, error);
		if (result)
			return result;
	}
	return 0;
}

/* The file that is replayed; NULL none. */
static const char *replayed_path(const struct setup *setup)
{
	const struct configuration *configuration = setup->configuration;
	return setup->is_before            ? configuration->before_path
	       : configuration->after_path ? configuration->after_path
					   : configuration->replay_path;
}

static int add_sources(struct setup *setup, const struct configuration *configuration, struct registry *registry,
		       struct instance_services *services, struct error *error)
{
	const char *replayed = replayed_path(setup);
	if (replayed) {
		struct setting file = { .key = (char *)"file",
					.value = (char *)replayed,
					.origin = (char *)(configuration->replay_path ? "--replay" : "--diff") };
		struct instance_configuration wanted = implied("replay", &file);
		return setup_add_source(setup, &wanted, NULL, registry, services, NULL, error);
	}
	int result = 0;
	if (!configuration->sources.count)
		result = add_sources_of_machine(setup, registry, services, error);
	for (size_t i = 0; !result && i < configuration->sources.count; i++)
		result = setup_add_source(setup, &configuration->sources.items[i], NULL, registry, services, NULL,
					  error);
	/* After all others: what is there already is not brought in. */
	size_t count = setup->sources.count;
	for (size_t i = 0; !result && i < count; i++) {
		struct instance *source = setup->sources.items[i];
		struct instance_configuration of_machine = implied(source->plugin->description.name, NULL);
		result = companions_add(setup, source,
					setup->sources_by_probe ? &of_machine : &configuration->sources.items[i],
					registry, services, error);
	}
	return result;
}

/* "run.html" in the current folder, for a capture "/data/run.iaprof". False when out of memory. */
static bool page_of_capture(const char *replay_path, char **page)
{
	const char *slash = strrchr(replay_path, '/'), *name = slash ? slash + 1 : replay_path;
	const char *dot = strrchr(name, '.');
	int length = dot && dot > name ? (int)(dot - name) : (int)strlen(name);
	if (!length || !strcmp(name, "-"))
		return asprintf(page, "%s", "replay" PAGE_EXTENSION) >= 0;
	return asprintf(page, "%.*s" PAGE_EXTENSION, length, name) >= 0;
}

static bool is_page(const char *path)
{
	size_t length = strlen(path), extension = strlen(PAGE_EXTENSION);
	return length > extension && !strcmp(path + length - extension, PAGE_EXTENSION);
}

/* Of a replay a page to look at; of a run folded text, to standard output unless that is a terminal. */
static int add_default_sink(struct setup *setup, const struct configuration *configuration, struct registry *registry,
			    struct instance_services *services, struct error *error)
{
	CLEANUP_FREE char *page = NULL;
	const char *output = configuration->output;
	setup->has_table = !output && isatty(STDOUT_FILENO);
	/* A file with two values a line would take the place of the last run's. */
	if (setup->has_table && configuration->before_path)
		return 0;
	if (!output && configuration->replay_path) {
		if (!page_of_capture(configuration->replay_path, &page))
			return error_set(error, ENOMEM, "out of memory");
		output = page;
	} else if (!output) {
		output = setup->has_table ? DEFAULT_OUTPUT : "-";
	}
	setup->tells_output = page || setup->has_table;
	struct instance_configuration wanted = implied(is_page(output) ? "flamegraph" : "folded", NULL);
	return add_sink(setup, &wanted, output, registry, services, error);
}

static int add_sinks(struct setup *setup, const struct configuration *configuration, struct registry *registry,
		     struct instance_services *services, struct error *error)
{
	int result = 0;
	if (configuration->record_path) {
		struct instance_configuration file = implied("capture", NULL);
		const struct instance_configuration *wanted =
			configuration->record.plugin ? &configuration->record : &file;
		result = add_sink(setup, wanted, configuration->record_path, registry, services, error);
	}
	if (configuration->output && configuration->sinks.count > 1)
		return error_set(error, EINVAL,
				 "-o %s: there are %zu sinks: give each its own with output=", configuration->output,
				 configuration->sinks.count);
	for (size_t i = 0; !result && i < configuration->sinks.count; i++)
		result = add_sink(setup, &configuration->sinks.items[i], configuration->output, registry, services,
				  error);
	/* Someone who only records needs no second output. */
	if (result || configuration->sinks.count || (configuration->record_path && !configuration->output))
		return result;
	return add_default_sink(setup, configuration, registry, services, error);
}

static void free_text(char **text)
{
	free(*text);
}

static const char *output_name(const struct instance *sink)
{
	return strcmp(sink->output.path, "-") ? sink->output.path : "standard output";
}

/* A sink's output can be written, is no file that is replayed, and what is not text is not for a terminal. */
static int check_output(const struct instance *sink, const struct configuration *configuration, char **identity,
			struct error *error)
{
	const char *const inputs[] = { configuration->replay_path, configuration->before_path,
				       configuration->after_path };
	int result = output_target_check(&sink->output, identity, error);
	if (result)
		return result;
	if (!strcmp(sink->output.path, "-") && (sink->plugin->description.flags & IAPROF_PLUGIN_BINARY) &&
	    isatty(STDOUT_FILENO))
		return error_set(error, EINVAL,
				 "writes no text: name a file with output=, or send standard output to one");
	struct stat output, input;
	if (stat(sink->output.path, &output))
		return 0;
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
		if (inputs[i] && !stat(inputs[i], &input) && output.st_dev == input.st_dev &&
		    output.st_ino == input.st_ino)
			return error_set(error, EINVAL, "%s is the file that is replayed: name another one",
					 output_name(sink));
	return 0;
}

/* Each output can be written, and no two are one file. */
static int check_outputs(const struct setup *setup, struct error *error)
{
	ARRAY(char *) identities = { 0 };
	int result = 0;
	for (size_t i = 0; !result && i < setup->sinks.count; i++) {
		const struct instance *sink = setup->sinks.items[i];
		CLEANUP(free_text) char *identity = NULL;
		if (!sink->output.path)
			continue;
		result = check_output(sink, setup->configuration, &identity, error);
		for (size_t k = 0; !result && identity && k < identities.count; k++)
			if (!strcmp(identities.items[k], identity))
				result = error_set(
					error, EINVAL,
					"two sinks would write %s: give each its own with output=", output_name(sink));
		if (result)
			error_wrap(error, "sink %s", sink->name);
		else if (identity && array_push(&identities, identity))
			identity = NULL;
	}
	for (size_t i = 0; i < identities.count; i++)
		free(identities.items[i]);
	array_free(&identities);
	return result;
}

int setup_hold_outputs(struct setup *setup, struct error *error)
{
	for (size_t i = 0; i < setup->sinks.count; i++) {
		struct instance *sink = setup->sinks.items[i];
		if (sink->output.path && output_target_hold(&sink->output, error))
			return error_wrap(error, "sink %s", sink->name);
	}
	return 0;
}

int setup_make(struct setup *setup, const struct configuration *configuration, struct registry *registry,
	       struct instance_services *services, struct error *error)
{
	setup->configuration = configuration;
	setup->decoders = (struct decoders){ .registry = registry, .services = services };
	int result = add_sources(setup, configuration, registry, services, error);
	if (!result)
		result = check_source_settings(setup, error);
	for (size_t i = 0; !result && i < configuration->decoders.count; i++)
		result = decoders_add(&setup->decoders, &configuration->decoders.items[i], error);
	if (!result && !setup->is_before)
		result = add_sinks(setup, configuration, registry, services, error);
	if (!result)
		result = check_outputs(setup, error);
	for (size_t i = 0; i < setup->sources.count; i++)
		setup->replays |= (setup->sources.items[i]->plugin->description.flags & IAPROF_PLUGIN_REPLAYS) != 0;
	if (!result && setup->replays && setup->sources.count > 1)
		result = error_set(error, EINVAL, "a replay is the only source of its run");
	return result;
}

void setup_release(struct setup *setup)
{
	for (size_t i = 0; i < setup->sources.count; i++)
		instance_free(setup->sources.items[i]);
	for (size_t i = 0; i < setup->sinks.count; i++)
		instance_free(setup->sinks.items[i]);
	decoders_release(&setup->decoders);
	array_free(&setup->sources);
	array_free(&setup->sinks);
}
