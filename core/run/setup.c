/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and configures the instances of a run: see setup.h. */
#include "run/setup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "base/log.h"
#include "config/config_file.h"
#include "ring/ring_range.h"
#include "run/companion_sources.h"
#include "run/exclusive_options.h"
#include "run/status_file.h"
#include "stacks/code_rules.h"

/* Name without extension of the output of a run on a terminal without -o and --sink, in the current folder. */
#define DEFAULT_OUTPUT "iaprof"
/* The same for a replay of standard input. */
#define REPLAY_OUTPUT "replay"
/* And of a range of a ring. */
#define RING_OUTPUT "ring"

#define INSTANCES_MAX 1000

/* Creates an instance of a plugin. Returns NULL after a failure. */
static struct instance *make_instance(const struct setup *setup, const struct instance_configuration *wanted,
				      uint32_t kind, struct error *error)
{
	struct plugin *plugin = registry_get(setup->registry, wanted->plugin, kind, error);
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
	return instance_new(plugin, wanted, (uint16_t)number, setup->services, error);
}

/* Creates a source and applies the settings for all sources for which its plugin has an option. */
static struct instance *make_source(const struct setup *setup, const struct instance_configuration *wanted,
				    struct error *error)
{
	const struct plugin *plugin =
		registry_get(setup->registry, wanted->plugin, IAPROF_PLUGIN_SOURCE, &(struct error){ 0 });
	struct instance_configuration all = *wanted;
	struct iaprof_option option;
	bool complete = true;
	all.settings = (__typeof__(all.settings)){ 0 };
	for (size_t i = 0; i < wanted->settings.count; i++)
		complete = complete && array_push(&all.settings, wanted->settings.items[i]);
	/* Appended, so that they override the source's own settings. */
	for (size_t i = 0; plugin && i < setup->configuration->source_settings.count; i++) {
		const struct setting *setting = &setup->configuration->source_settings.items[i];
		if (!option_table_find_alias(&plugin->options, setting->key, &option))
			continue;
		struct setting own = { (char *)option.name, setting->value, setting->origin };
		complete = complete && array_push(&all.settings, own);
	}
	struct instance *source = NULL;
	if (complete)
		source = make_instance(setup, &all, IAPROF_PLUGIN_SOURCE, error);
	else
		error_set(error, ENOMEM, "out of memory");
	array_free(&all.settings);
	return source;
}

/* Rejects a setting for all sources that no source has. */
static int check_source_settings(const struct setup *setup, struct error *error)
{
	for (size_t i = 0; i < setup->configuration->source_settings.count; i++) {
		const struct setting *setting = &setup->configuration->source_settings.items[i];
		struct iaprof_option option;
		bool taken = false;
		for (size_t k = 0; !taken && k < setup->sources.count; k++)
			taken = option_table_find_alias(&setup->sources.items[k]->plugin->options, setting->key,
							&option);
		if (!taken)
			return error_set(error, EINVAL,
					 "%s: no source of this run has this option (add one with --source)",
					 setting->origin);
	}
	return 0;
}

int setup_add_source(struct setup *setup, const struct instance_configuration *wanted,
		     const struct instance *brought_by, struct error *error)
{
	struct instance *source = make_source(setup, wanted, error);
	if (!source)
		return error->code;
	source->brought_by = brought_by;
	if (!array_push(&setup->sources, source)) {
		instance_free(source);
		return error_set(error, ENOMEM, "out of memory");
	}
	int result = instance_configure(source, error);
	return instance_is_dead(source) ? 0 : result;
}

/*
 * Returns the next plugin of a kind with a flag; NULL: no more. A plugin that cannot be loaded is skipped, and so is
 * one that was not built with iaprof: what is chosen for the user does not depend on what others installed.
 */
static const struct plugin *next_plugin(const struct setup *setup, uint32_t kind, uint32_t flag, size_t *position)
{
	while (*position < registry_count(setup->registry)) {
		const struct plugin *plugin = registry_load(setup->registry, (*position)++, &(struct error){ 0 });
		if (plugin && !plugin->is_foreign && plugin->description.kind == kind &&
		    plugin->description.flags & flag)
			return plugin;
	}
	return NULL;
}

static const struct plugin *first_plugin(const struct setup *setup, uint32_t kind, uint32_t flag)
{
	return next_plugin(setup, kind, flag, &(size_t){ 0 });
}

/* Appends the names of the sinks with a flag. */
static void append_sinks(const struct setup *setup, uint32_t flag, char *names, size_t size)
{
	size_t position = 0;
	for (const struct plugin *able;
	     (able = next_plugin(setup, IAPROF_PLUGIN_SINK, flag, &position)) && strlen(names) < size - 70;)
		snprintf(names + strlen(names), size - strlen(names), "%s%s", *names ? ", " : "",
			 able->description.name);
}

static int refuse_difference(const struct setup *setup, const struct instance *sink, struct error *error)
{
	char names[256] = "";
	append_sinks(setup, IAPROF_PLUGIN_DIFFERENCES, names, sizeof names);
	return error_set(error, EINVAL,
			 "--diff: sink %s does not support differences (use %s, or write each file with --replay and "
			 "compare them with the tool that reads them)",
			 sink->name, names);
}

static int refuse_continuous(const struct setup *setup, const struct instance *sink, struct error *error)
{
	char names[256] = "";
	append_sinks(setup, IAPROF_PLUGIN_INTERVALS, names, sizeof names);
	return error_set(error, EINVAL,
			 "--continuous: sink %s writes the whole run at its end (use %s, and --replay ring: to write "
			 "a part of the ring with this sink)",
			 sink->name, names);
}

static int add_sink(struct setup *setup, const struct instance_configuration *wanted, const char *output,
		    struct error *error)
{
	struct instance *sink = make_instance(setup, wanted, IAPROF_PLUGIN_SINK, error);
	if (!sink)
		return error->code;
	if (!array_push(&setup->sinks, sink)) {
		instance_free(sink);
		return error_set(error, ENOMEM, "out of memory");
	}
	bool has_output = !(sink->plugin->description.flags & IAPROF_PLUGIN_NO_OUTPUT);
	if (setup->configuration->before_path && !(sink->plugin->description.flags & IAPROF_PLUGIN_DIFFERENCES))
		return refuse_difference(setup, sink, error);
	if (setup->configuration->continuous && !(sink->plugin->description.flags & IAPROF_PLUGIN_INTERVALS))
		return refuse_continuous(setup, sink, error);
	if (output && !has_output)
		return error_set(error, EINVAL, "-o %s: sink %s does not write a file", output, sink->name);
	int result = output ? output_target_set(&sink->output, output, error) : 0;
	if (!result && has_output && !sink->output.path)
		result = output_target_set(&sink->output, "-", error);
	if (!result)
		result = instance_configure(sink, error);
	return instance_is_dead(sink) ? 0 : result;
}

/* Configures an instance that the user did not name: a plugin and at most one setting. */
static struct instance_configuration implied(const char *plugin, struct setting *setting)
{
	struct instance_configuration configuration = { .plugin = (char *)plugin };
	if (setting) {
		configuration.settings.items = setting;
		configuration.settings.count = 1;
	}
	return configuration;
}

/* Adds every source that can be selected automatically. */
static int add_sources_of_machine(struct setup *setup, struct error *error)
{
	setup->sources_by_probe = true;
	for (size_t i = 0; i < registry_count(setup->registry); i++) {
		struct error problem = { 0 };
		const struct plugin *plugin = registry_load(setup->registry, i, &problem);
		if (!plugin) {
			log_message(IAPROF_LOG_WARNING, "%s", problem.text);
			continue;
		}
		if (plugin->description.kind != IAPROF_PLUGIN_SOURCE ||
		    (plugin->description.flags & (IAPROF_PLUGIN_ONLY_BY_NAME | IAPROF_PLUGIN_REPLAYS)))
			continue;
		struct instance_configuration wanted = implied(plugin->description.name, NULL);
		int result = setup_add_source(setup, &wanted, NULL, error);
		if (result)
			return result;
	}
	return 0;
}

/* Returns the file to replay, or NULL. */
static const char *replayed_path(const struct setup *setup)
{
	const struct configuration *configuration = setup->configuration;
	return setup->is_before            ? configuration->before_path
	       : configuration->after_path ? configuration->after_path
					   : configuration->replay_path;
}

/* Adds the source that reads the replayed file. */
static int add_replay(struct setup *setup, const char *path, struct error *error)
{
	const struct plugin *reader = first_plugin(setup, IAPROF_PLUGIN_SOURCE, IAPROF_PLUGIN_CAPTURES);
	const char *option = setup->configuration->replay_path ? "--replay" : "--diff";
	if (!reader)
		return error_set(error, ENOENT, "%s: no source reads captures (iaprof --list lists the plugins)",
				 option);
	struct setting file = { .key = (char *)"file", .value = (char *)path, .origin = (char *)option };
	struct instance_configuration wanted = implied(reader->description.name, &file);
	return setup_add_source(setup, &wanted, NULL, error);
}

static int add_sources(struct setup *setup, struct error *error)
{
	const struct configuration *configuration = setup->configuration;
	const char *replayed = replayed_path(setup);
	if (replayed)
		return add_replay(setup, replayed, error);
	int result = 0;
	if (!configuration->sources.count)
		result = add_sources_of_machine(setup, error);
	for (size_t i = 0; !result && i < configuration->sources.count; i++)
		result = setup_add_source(setup, &configuration->sources.items[i], NULL, error);
	/* Added last, so that a companion that is already a source is not added again. */
	size_t count = setup->sources.count;
	for (size_t i = 0; !result && i < count; i++) {
		struct instance *source = setup->sources.items[i];
		struct instance_configuration of_machine = implied(source->plugin->description.name, NULL);
		const struct instance_configuration *wanted =
			setup->sources_by_probe ? &of_machine : &configuration->sources.items[i];
		result = companion_sources_add(setup, source, wanted, error);
	}
	return result;
}

/*
 * Returns "run.EXTENSION" for a capture "/data/run.iaprof": an output in the current folder; NULL when out of memory.
 */
static char *output_of_capture(const char *replay_path, const char *extension)
{
	const char *slash = strrchr(replay_path, '/'), *name = slash ? slash + 1 : replay_path;
	const char *dot = strrchr(name, '.');
	int length = dot && dot > name ? (int)(dot - name) : (int)strlen(name);
	if (ring_range_is(replay_path))
		return format_new(RING_OUTPUT ".%s", extension);
	if (!length || is_standard_output(name))
		return format_new(REPLAY_OUTPUT ".%s", extension);
	return format_new("%.*s.%s", length, name, extension);
}

static bool has_extension(const char *path, const char *extension)
{
	size_t length = strlen(path), end = strlen(extension);
	return length > end + 1 && path[length - end - 1] == '.' && !strcmp(path + length - end, extension);
}

static const char *extension_of(const struct plugin *sink)
{
	return sink->operations.extension ? sink->operations.extension : sink->description.name;
}

/* Returns the sink of an output that the user named, or of standard output (NULL); NULL: none. */
static const struct plugin *choose_sink(const struct setup *setup, const char *output)
{
	const struct plugin *sink =
		setup->configuration->continuous && !output
			? first_plugin(setup, IAPROF_PLUGIN_SINK, IAPROF_PLUGIN_DEFAULT_OF_CONTINUOUS)
			: NULL;
	if (sink)
		return sink;
	for (size_t position = 0;
	     (sink = next_plugin(setup, IAPROF_PLUGIN_SINK, IAPROF_PLUGIN_DEFAULT_OF_EXTENSION, &position));)
		if (output && has_extension(output, extension_of(sink)))
			return sink;
	return first_plugin(setup, IAPROF_PLUGIN_SINK, IAPROF_PLUGIN_DEFAULT);
}

/*
 * Standard output that is redirected gets the default sink. On a terminal the output is a file, whose name is printed:
 * a replay's default for a replay, else the default sink's.
 */
static int add_default_sink(struct setup *setup, struct error *error)
{
	const struct configuration *configuration = setup->configuration;
	CLEANUP_FREE char *made = NULL;
	const char *output = configuration->output;
	const struct plugin *sink = NULL;
	setup->has_table = !output && !configuration->continuous && isatty(STDOUT_FILENO);
	/* A file with two values per line must not replace that of an earlier run. */
	if (setup->has_table && configuration->before_path)
		return 0;
	if (setup->has_table && configuration->replay_path)
		sink = first_plugin(setup, IAPROF_PLUGIN_SINK, IAPROF_PLUGIN_DEFAULT_OF_REPLAY);
	bool is_default_of_replay = sink;
	if (!sink)
		sink = choose_sink(setup, output);
	if (!sink)
		return error_set(error, ENOENT, "no sink is the default (choose one with --sink)");
	if (setup->has_table) {
		made = is_default_of_replay ? output_of_capture(configuration->replay_path, extension_of(sink))
					    : format_new(DEFAULT_OUTPUT ".%s", extension_of(sink));
		if (!made)
			return error_set(error, ENOMEM, "out of memory");
	}
	struct instance_configuration wanted = implied(sink->description.name, NULL);
	if (sink->description.flags & IAPROF_PLUGIN_NO_OUTPUT)
		return add_sink(setup, &wanted, NULL, error);
	return add_sink(setup, &wanted, output ? output : made ? made : "-", error);
}

/* Adds the sink that writes the file of --record. */
static int add_record(struct setup *setup, struct error *error)
{
	const struct plugin *writer = first_plugin(setup, IAPROF_PLUGIN_SINK, IAPROF_PLUGIN_CAPTURES);
	struct instance_configuration wanted = setup->configuration->record;
	if (!writer)
		return error_set(error, ENOENT, "--record: no sink writes captures (iaprof --list lists the plugins)");
	wanted.plugin = (char *)writer->description.name;
	return add_sink(setup, &wanted, setup->configuration->record_path, error);
}

static int add_sinks(struct setup *setup, struct error *error)
{
	const struct configuration *configuration = setup->configuration;
	int result = configuration->record_path ? add_record(setup, error) : 0;
	if (configuration->output && configuration->sinks.count > 1)
		return error_set(error, EINVAL, "-o %s: %zu sinks (set output= for each sink instead)",
				 configuration->output, configuration->sinks.count);
	for (size_t i = 0; !result && i < configuration->sinks.count; i++)
		result = add_sink(setup, &configuration->sinks.items[i], configuration->output, error);
	/* --record alone needs no second output. */
	if (result || configuration->sinks.count || (configuration->record_path && !configuration->output))
		return result;
	return add_default_sink(setup, error);
}

static const char *output_name(const struct instance *sink)
{
	return output_path_shown(sink->output.path);
}

/* Loads the code now: its file may be replaced during the run. */
static void find_report(struct setup *setup)
{
	struct error ignored = { 0 };
	struct plugin *sink = registry_get(setup->registry, "summary", IAPROF_PLUGIN_SINK, &ignored);
	if (sink && !sink->is_foreign && !plugin_load_code(sink, &ignored))
		setup->report = sink;
}

/* Checks that an output is writable, is not the replayed file, and that a terminal gets only text. */
static int check_output(const struct instance *sink, const struct configuration *configuration, char **identity,
			struct error *error)
{
	const char *const inputs[] = { configuration->replay_path, configuration->before_path,
				       configuration->after_path };
	int result = output_target_check(&sink->output, identity, error);
	if (result)
		return result;
	if ((sink->plugin->description.flags & IAPROF_PLUGIN_BINARY) && output_target_is_terminal(&sink->output))
		return error_set(error, EINVAL,
				 "binary output to a terminal (set output=FILE or -o FILE, or use a pipe)");
	struct stat output, input;
	if (stat(sink->output.path, &output))
		return 0;
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
		if (inputs[i] && !stat(inputs[i], &input) && output.st_dev == input.st_dev &&
		    output.st_ino == input.st_ino)
			return error_set(error, EINVAL, "%s is the file that is replayed (use another file)",
					 output_name(sink));
	return 0;
}

/* Checks that each output is writable and that no two outputs are the same file. */
static int check_outputs(const struct setup *setup, struct error *error)
{
	ARRAY(char *) identities = { 0 };
	char *status_file = NULL;
	int result = setup->is_before ? 0 : status_file_check(setup->configuration->status_file, &status_file, error);
	if (status_file && !array_push(&identities, status_file))
		free(status_file);
	for (size_t i = 0; !result && i < setup->sinks.count; i++) {
		const struct instance *sink = setup->sinks.items[i];
		CLEANUP_FREE char *identity = NULL;
		if (!sink->output.path)
			continue;
		result = check_output(sink, setup->configuration, &identity, error);
		for (size_t k = 0; !result && identity && k < identities.count; k++)
			if (!strcmp(identities.items[k], identity))
				result = error_set(error, EINVAL, "two sinks write %s (set output= for each)",
						   output_name(sink));
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

static int refuse_input(const char *option, const char *path, struct error *error)
{
	int code = errno;
	bool is_meant = code == ENOENT && ring_range_is_meant(path);
	return error_set(error, code, "%s %s: %s%s", option, path, strerror(code),
			 is_meant ? " (use ring:FROM..TO for the default ring, or FOLDER:FROM..TO with the folder of "
				    "another ring)"
				  : "");
}

/* Checks that the files to replay can be read. */
static int check_inputs(const struct configuration *configuration, struct error *error)
{
	const char *const inputs[] = { configuration->replay_path, configuration->before_path,
				       configuration->after_path };
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
		if (inputs[i] && (i || strcmp(inputs[i], "-") != 0) && !ring_range_is(inputs[i]) &&
		    access(inputs[i], R_OK))
			return refuse_input(i ? "--diff" : "--replay", inputs[i], error);
	return 0;
}

int setup_hold_outputs(struct setup *setup, struct error *error)
{
	for (size_t i = 0; i < setup->sinks.count; i++) {
		struct instance *sink = setup->sinks.items[i];
		if (sink->output.path && !instance_is_dead(sink) && output_target_hold(&sink->output, error))
			return error_wrap(error, "sink %s", sink->name);
	}
	return 0;
}

/* Reads the installed rules and the user's. */
static int read_rules(struct setup *setup, struct error *error)
{
	CLEANUP_FREE char *installed = example_find("code.rules");
	setup->rules = code_rules_new();
	if (!setup->rules)
		return error_set(error, ENOMEM, "out of memory");
	if (!installed)
		log_message(IAPROF_LOG_WARNING,
			    "code.rules is not installed: code of libraries is taken for the program's");
	int result = installed ? code_rules_read(setup->rules, installed, error) : 0;
	if (!result && setup->configuration->rules)
		result = code_rules_read(setup->rules, setup->configuration->rules, error);
	return result;
}

int setup_make(struct setup *setup, const struct configuration *configuration, struct registry *registry,
	       struct instance_services *services, struct error *error)
{
	setup->configuration = configuration;
	setup->registry = registry;
	setup->services = services;
	setup->decoders = (struct decoders){ .registry = registry, .services = services };
	find_report(setup);
	int result = read_rules(setup, error);
	if (!result)
		result = add_sources(setup, error);
	if (!result)
		result = check_source_settings(setup, error);
	for (size_t i = 0; !result && i < configuration->decoders.count; i++)
		result = decoders_add(&setup->decoders, &configuration->decoders.items[i], error);
	if (!result && !setup->is_before)
		result = add_sinks(setup, error);
	if (!result)
		result = exclusive_options_check(setup->sinks.items, setup->sinks.count, error);
	if (!result)
		result = check_outputs(setup, error);
	if (!result)
		result = check_inputs(configuration, error);
	for (size_t i = 0; i < setup->sources.count; i++)
		setup->replays |= (setup->sources.items[i]->plugin->description.flags & IAPROF_PLUGIN_REPLAYS) != 0;
	if (!result && setup->replays && setup->sources.count > 1)
		result = error_set(error, EINVAL, "a replay must be the only source of a run");
	return result;
}

void setup_release(struct setup *setup)
{
	for (size_t i = 0; i < setup->sources.count; i++)
		instance_free(setup->sources.items[i]);
	for (size_t i = 0; i < setup->sinks.count; i++)
		instance_free(setup->sinks.items[i]);
	decoders_release(&setup->decoders);
	code_rules_free(setup->rules);
	array_free(&setup->sources);
	array_free(&setup->sinks);
}
