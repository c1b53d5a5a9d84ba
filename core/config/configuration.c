/* SPDX-License-Identifier: Apache-2.0 */
/* Command line and INI file together: see configuration.h. */
#include "config/configuration.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <iaprof/host.h>
#include <iaprof/profile.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "config/config_file.h"
#include "config/instance_configuration.h"
#include "config/layer.h"
#include "config/output_format.h"
#include "config/run_options.h"
#include "config/value.h"

#define BUDGET_MIN 0.001

/* PID_MAX_LIMIT in include/linux/threads.h of Linux. */
#define PID_MAX 4194304

/* Options that contradict each other. */
static const char *const exclusive_pairs[][2] = {
	{ "scope", "pid" },     { "scope", "cgroup" },     { "scope", "container" }, { "pid", "cgroup" },
	{ "pid", "container" }, { "cgroup", "container" }, { "verbose", "quiet" },   { "continuous", "record" },
};

void configuration_layer_release(struct configuration_layer *layer)
{
	instance_release(&layer->run);
	instance_list_release(&layer->sources);
	instance_list_release(&layer->sinks);
	instance_list_release(&layer->decoders);
}

void configuration_free(struct configuration *configuration)
{
	free(configuration->help_plugin);
	free(configuration->config_path);
	option_table_release(run_option_keys(), configuration);
	instance_release(&configuration->record);
	array_free(&configuration->pids);
	for (size_t i = 0; i < configuration->source_settings.count; i++)
		setting_release(&configuration->source_settings.items[i]);
	array_free(&configuration->source_settings);
	instance_list_release(&configuration->sources);
	instance_list_release(&configuration->sinks);
	instance_list_release(&configuration->decoders);
	*configuration = (struct configuration){ 0 };
}

/* Reads "1,2,3" with optional blanks; duplicates are dropped. */
static int read_pids(struct configuration *configuration, const char *text, struct error *error)
{
	char *copy CLEANUP_FREE = strdup(text);
	char *rest = copy;

	if (!copy)
		return error_set(error, ENOMEM, "pid: out of memory");
	for (char *item; (item = strsep(&rest, ","));) {
		uint64_t pid = 0;
		item += strspn(item, " \t");
		for (size_t length = strlen(item); length > 0 && strchr(" \t", item[length - 1]); length--)
			item[length - 1] = '\0';
		if (value_parse_uint(item, &pid) < 0 || pid == 0 || pid > PID_MAX)
			return error_set(error, EINVAL, "pid: '%s' is not a process ID (1 to %d)",
					 value_excerpt(item).text, PID_MAX);
		bool known = false;
		for (size_t i = 0; i < configuration->pids.count; i++)
			known |= configuration->pids.items[i] == pid;
		if (!known && !array_push(&configuration->pids, (uint32_t)pid))
			return error_set(error, ENOMEM, "pid: out of memory");
	}
	return 0;
}

static bool is_own(const char *key)
{
	struct iaprof_option option;
	return option_table_find(run_option_keys(), key, &option);
}

/* Returns whether a key is an option of a source. */
static bool is_alias(const struct option_aliases *aliases, const char *key)
{
	const char *const *names = is_own(key) || !aliases ? NULL : aliases->list(aliases->context);
	for (; names && *names; names++)
		if (strcmp(*names, key) == 0)
			return true;
	return false;
}

/* Checks the URL of a server, which is passed to another program. */
static int check_url(const char *url, struct error *error)
{
	bool is_http = strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
	for (const char *byte = url; *byte; byte++)
		is_http = is_http && *byte > ' ' && *byte < 0x7f;
	return is_http ? 0
		       : error_set(error, EINVAL, "debuginfod: '%s' is not a URL such as https://debuginfod.debian.net",
				   value_excerpt(url).text);
}

/* Checks each setting, including those that another one overrides. */
static int check_settings(const struct instance_configuration *run, const struct option_aliases *aliases,
			  struct error *error)
{
	CLEANUP(configuration_free) struct configuration scratch = { 0 };

	for (size_t i = 0; i < run->settings.count; i++) {
		const struct setting *setting = &run->settings.items[i];
		if (is_alias(aliases, setting->key))
			continue; /* checked with the source's option table */
		int result = option_table_set(run_option_keys(), &scratch, setting->key, setting->value, error);
		if (result == 0 && strcmp(setting->key, "pid") == 0)
			result = read_pids(&scratch, setting->value, error);
		else if (result == 0 && strcmp(setting->key, "debuginfod") == 0)
			result = check_url(setting->value, error);
		else if (result == 0 && !*setting->value)
			result = error_set(error, EINVAL, "%s: missing file name", setting->key);
		if (result < 0)
			return error_wrap(error, "%s", setting->origin);
	}
	return 0;
}

/* Returns the effective setting: the command line's, or the file's unless the command line contradicts it. */
static const struct setting *choose(const struct configuration_layer *file,
				    const struct configuration_layer *command_line, const char *key)
{
	const struct setting *setting = instance_find_setting(&command_line->run, key);
	if (setting)
		return setting;
	for (size_t i = 0; i < sizeof exclusive_pairs / sizeof *exclusive_pairs; i++)
		for (size_t j = 0; j < 2; j++)
			if (strcmp(key, exclusive_pairs[i][j]) == 0 &&
			    instance_find_setting(&command_line->run, exclusive_pairs[i][1 - j]))
				return NULL;
	return instance_find_setting(&file->run, key);
}

/* A setting as the user wrote it. */
struct setting_name {
	char text[160];
};

/* Formats "--pid", or "pid (run.ini:3)" for a key of a file. */
static struct setting_name name_setting(const char *key, const char *origin)
{
	struct setting_name name;
	bool is_option = !strcmp(origin, COMMAND_LINE), is_of_option = !strcmp(origin, "--diff");
	if (is_option)
		snprintf(name.text, sizeof name.text, "--%s", key);
	else if (is_of_option || (!strncmp(origin, "--", 2) && !strcmp(origin + 2, key)))
		snprintf(name.text, sizeof name.text, "%s", origin);
	else
		snprintf(name.text, sizeof name.text, "%s (%s)", key, origin);
	return name;
}

/* Rejects two settings that contradict each other, with their origins. */
static int refuse_both(const struct setting *one, const char *other, const char *other_origin, struct error *error)
{
	return error_set(error, EINVAL, "%s and %s are mutually exclusive", name_setting(one->key, one->origin).text,
			 name_setting(other, other_origin).text);
}

static int check_exclusive_pairs(const struct configuration_layer *file, const struct configuration_layer *command_line,
				 struct error *error)
{
	for (size_t i = 0; i < sizeof exclusive_pairs / sizeof *exclusive_pairs; i++) {
		const struct setting *one = choose(file, command_line, exclusive_pairs[i][0]);
		const struct setting *other = choose(file, command_line, exclusive_pairs[i][1]);
		if (one && other)
			return refuse_both(one, other->key, other->origin, error);
	}
	return 0;
}

/* Rejects settings that a recording determines. excluded: keys, terminated by NULL. */
static int check_recorded(const struct configuration *configuration, const struct configuration_layer *file,
			  const struct configuration_layer *command_line, const struct setting *recorded,
			  const char *const *excluded, struct error *error)
{
	for (; *excluded; excluded++) {
		const struct setting *other = choose(file, command_line, *excluded);
		if (other)
			return refuse_both(recorded, other->key, other->origin, error);
	}
	if (configuration->sources.count > 0)
		return refuse_both(recorded, "source", configuration->sources.items[0].origin, error);
	if (configuration->command)
		return refuse_both(recorded, "a command", configuration->command[0], error);
	return 0;
}

static int check_replay(const struct configuration *configuration, const struct configuration_layer *file,
			const struct configuration_layer *command_line, struct error *error)
{
	static const char *const excluded[] = { "duration", "continuous", "pid",        "scope",
						"cgroup",   "container",  "debuginfod", NULL };
	const struct setting *replay = choose(file, command_line, "replay");

	int result = replay ? check_recorded(configuration, file, command_line, replay, excluded, error) : 0;
	if (!replay || result < 0)
		return result;
	if (configuration->record_path && strcmp(configuration->record_path, configuration->replay_path) == 0)
		return error_set(error, EINVAL, "record and replay name the same file: %s", configuration->record_path);
	return 0;
}

/* A difference requires two complete recordings. */
static int check_difference(const struct configuration *configuration, const struct configuration_layer *file,
			    const struct configuration_layer *command_line, struct error *error)
{
	static const char *const excluded[] = { "replay", "record", "duration", "interval",  "continuous",
						"pid",    "scope",  "cgroup",   "container", NULL };
	const struct setting *before = choose(file, command_line, "before");
	const struct setting *after = choose(file, command_line, "after");
	const struct setting *normalize = choose(file, command_line, "normalize");

	if (!before != !after)
		return error_set(error, EINVAL, "%s (%s) without %s: a difference requires two files",
				 before ? before->key : after->key, before ? before->origin : after->origin,
				 before ? "after" : "before");
	if (before)
		return check_recorded(configuration, file, command_line, before, excluded, error);
	if (normalize)
		return error_set(error, EINVAL, "%s requires --diff BEFORE AFTER",
				 name_setting(normalize->key, normalize->origin).text);
	return 0;
}

static const struct setting *find_sink_output(const struct instance_list *sinks)
{
	const struct setting *output = NULL;
	for (size_t i = 0; i < sinks->count && !output; i++)
		output = instance_find_setting(&sinks->items[i], "output");
	return output;
}

/*
 * -o is the file of a single sink. The sink's own output key on the command line overrides -o in the file; both in one
 * place are an error. Runs before the sinks are moved out of their layers.
 */
static int settle_output(struct configuration *configuration, const struct configuration_layer *file,
			 const struct configuration_layer *command_line, struct error *error)
{
	const struct setting *output = choose(file, command_line, "output");
	bool in_file = output && output == instance_find_setting(&file->run, "output");
	const struct setting *own = find_sink_output(in_file ? &file->sinks : &command_line->sinks);

	if (output && own)
		return refuse_both(output, "output of the sink", own->origin, error);
	if (in_file && find_sink_output(&command_line->sinks)) {
		free(configuration->output);
		configuration->output = NULL;
	}
	return 0;
}

static int check_sink_count(const struct configuration *configuration, const struct configuration_layer *file,
			    const struct configuration_layer *command_line, struct error *error)
{
	const struct setting *output = choose(file, command_line, "output");
	if (!output || configuration->sinks.count <= 1)
		return 0;
	return error_set(error, EINVAL, "%s with %zu sinks (set output= for each sink instead)",
			 name_setting(output->key, output->origin).text, configuration->sinks.count);
}

/* Adds the effective settings of one layer that are options of sources. */
static int add_source_settings(struct configuration *configuration, const struct instance_configuration *run,
			       const struct configuration_layer *file, const struct configuration_layer *command_line,
			       struct error *error)
{
	for (size_t i = 0; i < run->settings.count; i++) {
		const struct setting *setting = &run->settings.items[i];
		if (is_own(setting->key) || choose(file, command_line, setting->key) != setting)
			continue;
		struct setting own = { strdup(setting->key), strdup(setting->value),
				       format_new("%s: %s", setting->origin, setting->key) };
		if (!own.key || !own.value || !own.origin || !array_push(&configuration->source_settings, own)) {
			setting_release(&own);
			return error_set(error, ENOMEM, "out of memory");
		}
	}
	return 0;
}

/* Finds ",KEY=VALUE" after a file name, which may itself contain commas. NULL: there is none. */
static char *find_keys(char *text)
{
	for (char *comma = text; (comma = strchr(comma, ',')); comma++) {
		size_t length = strspn(comma + 1, "abcdefghijklmnopqrstuvwxyz-");
		if (length && comma[1 + length] == '=')
			return comma;
	}
	return NULL;
}

/* Reads "FILE" or "FILE,KEY=VALUE,...": the keys are those of sink capture. */
static int read_record(struct configuration *configuration, const char *origin, struct error *error)
{
	char *text CLEANUP_FREE = NULL,
		   *keys = configuration->record_path ? find_keys(configuration->record_path) : NULL;
	if (!keys)
		return 0;
	*keys = '\0';
	if (!*configuration->record_path)
		return error_set(error, EINVAL, "%s: record: missing file name", origin);
	text = format_new("capture:%s", keys + 1);
	if (!text)
		return error_set(error, ENOMEM, "out of memory");
	int result = instance_read_argument(&configuration->record, text, "--record", error);
	if (result == 0 && instance_find_setting(&configuration->record, "output"))
		return error_set(error, EINVAL, "--record: output is set twice (the file comes first: FILE,KEY=VALUE)");
	return result;
}

/* Stores the budget, "0.1%" or "none", as a share of the CPU time of all CPUs. origin: NULL for the default. */
static int read_budget(struct configuration *configuration, const char *origin, struct error *error)
{
	const char *text = configuration->values.budget;
	if (!strcmp(text, "none"))
		return 0;
	size_t length = strlen(text);
	double percent;
	char *number CLEANUP_FREE = strdup(text);
	if (!number)
		return error_set(error, ENOMEM, "out of memory");
	bool has_sign = length && text[length - 1] == '%';
	number[length - has_sign] = '\0';
	if (!has_sign || value_parse_double(number, &percent) || percent < BUDGET_MIN || percent > 100)
		return error_set(error, EINVAL, "%s: budget: '%s' is not a share of CPU time (%g%% to 100%%, or none)",
				 origin, value_excerpt(text).text, BUDGET_MIN);
	configuration->budget = percent / 100;
	return 0;
}

/* Stores what is set, and defaults of the rest. */
static int set_keys(struct configuration *configuration, const struct configuration_layer *file,
		    const struct configuration_layer *command_line, struct error *error)
{
	const struct option_table *keys = run_option_keys();
	int result = option_table_set_defaults(keys, configuration, error);
	for (size_t i = 0; !result && i < keys->count; i++) {
		const struct setting *setting = choose(file, command_line, keys->options[i].name);
		if (setting)
			result = option_table_set(keys, configuration, setting->key, setting->value, error);
	}
	return result;
}

/* Rejects a setting that only another one gives a meaning. */
static int check_dependent(const struct setting *setting, bool has_meaning, const char *other, struct error *error)
{
	return !setting || has_meaning ? 0
				       : error_set(error, EINVAL, "%s requires %s",
						   name_setting(setting->key, setting->origin).text, other);
}

/* Sets what is profiled, unless --pid determines it. */
static void set_scope(struct configuration *configuration)
{
	enum { SCOPE_AUTO, SCOPE_SYSTEM, SCOPE_COMMAND };
	uint64_t wanted = configuration->values.scope;
	const char *command = configuration->command ? configuration->command[0] : "";
	const char *slash = strrchr(command, '/');
	configuration->is_timer = strcmp(slash ? slash + 1 : command, "sleep") == 0 && wanted != SCOPE_COMMAND;
	bool is_command = wanted == SCOPE_AUTO ? *command && !configuration->is_timer : wanted == SCOPE_COMMAND;
	configuration->scope = is_command ? IAPROF_SCOPE_COMMAND : IAPROF_SCOPE_SYSTEM;
	if (configuration->cgroup || configuration->container)
		configuration->scope = IAPROF_SCOPE_CGROUP;
}

/* Stores the effective values. */
static int set_run_values(struct configuration *configuration, const struct configuration_layer *file,
			  const struct configuration_layer *command_line, struct error *error)
{
	const struct setting *budget = choose(file, command_line, "budget");
	const struct setting *record = choose(file, command_line, "record");
	int result = set_keys(configuration, file, command_line, error);
	if (!result)
		result = check_dependent(choose(file, command_line, "memory"), configuration->continuous, "continuous",
					 error);
	if (!result)
		result = check_dependent(budget, configuration->continuous, "continuous", error);
	if (!result && configuration->continuous)
		result = read_budget(configuration, budget ? budget->origin : NULL, error);
	if (!result && record)
		result = read_record(configuration, record->origin, error);
	if (!result)
		result = check_dependent(choose(file, command_line, "children"),
					 configuration->values.pids || instance_find_setting(&file->run, "pid"),
					 "--pid", error);
	configuration->limits_finish = choose(file, command_line, "finish-within");
	set_scope(configuration);
	configuration->verbosity = configuration->values.quiet ? -1 : (int)configuration->values.verbose;
	configuration->without_children = configuration->values.children != 0;
	if (result < 0 || !configuration->values.pids)
		return result;
	configuration->scope = IAPROF_SCOPE_PIDS;
	return read_pids(configuration, configuration->values.pids, error);
}

/* Moves the instances of a layer into the configuration, where they override earlier ones. */
static int add_instances(struct configuration *configuration, struct configuration_layer *layer, struct error *error)
{
	int result = instance_list_override(&configuration->sources, &layer->sources, error);
	if (result == 0)
		result = instance_list_override(&configuration->sinks, &layer->sinks, error);
	return result == 0 ? instance_list_override(&configuration->decoders, &layer->decoders, error) : result;
}

int configuration_combine(struct configuration *configuration, struct configuration_layer *file,
			  struct configuration_layer *command_line, const struct option_aliases *aliases,
			  struct error *error)
{
	int result = check_settings(&file->run, aliases, error);
	if (result == 0)
		result = check_settings(&command_line->run, aliases, error);
	if (result == 0)
		result = check_exclusive_pairs(file, command_line, error);
	if (result == 0)
		result = set_run_values(configuration, file, command_line, error);
	if (result == 0)
		result = add_source_settings(configuration, &command_line->run, file, command_line, error);
	if (result == 0)
		result = add_source_settings(configuration, &file->run, file, command_line, error);
	if (result == 0)
		result = settle_output(configuration, file, command_line, error);
	if (result == 0)
		result = add_instances(configuration, file, error);
	if (result == 0)
		result = add_instances(configuration, command_line, error);
	if (result == 0)
		result = check_replay(configuration, file, command_line, error);
	if (result == 0)
		result = check_difference(configuration, file, command_line, error);
	if (result == 0)
		result = check_sink_count(configuration, file, command_line, error);
	if (result == 0)
		result = output_formats_apply(configuration, error);
	if (result == 0 && configuration->scope == IAPROF_SCOPE_COMMAND && !configuration->command)
		return error_set(error, EINVAL, "scope 'command' requires a command");
	return result;
}

static int find_file(struct configuration *configuration, struct error *error)
{
	char *path = config_file_find(configuration->config_path);

	if (!path)
		return error_set(error, ENOMEM, "out of memory");
	configuration->config_was_found = config_file_is_name(configuration->config_path);
	free(configuration->config_path);
	configuration->config_path = path;
	return 0;
}

int configuration_read(struct configuration *configuration, int argc, char **argv, const struct option_aliases *aliases,
		       struct error *error)
{
	CLEANUP(configuration_layer_release) struct configuration_layer file = { 0 };
	CLEANUP(configuration_layer_release) struct configuration_layer command_line = { 0 };

	int result = command_line_read(configuration, &command_line, argc, argv, aliases, error);
	if (result == 0 && configuration->action != ACTION_RUN && configuration->action != ACTION_CHECK)
		return 0;
	if (result == 0 && configuration->config_path)
		result = find_file(configuration, error);
	if (result == 0 && configuration->config_path)
		result = ini_file_read(&file, configuration->config_path, error);
	const struct setting *folders = result == 0 ? choose(&file, &command_line, "plugin-path") : NULL;
	/* Those of the command line are added while it is read, for aliases that follow. */
	if (folders == instance_find_setting(&file.run, "plugin-path") && folders)
		result = plugin_folders_add(aliases, folders->value, folders->origin, error);
	if (result == 0)
		result = configuration_combine(configuration, &file, &command_line, aliases, error);
	return result;
}
