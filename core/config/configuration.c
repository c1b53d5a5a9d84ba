/* SPDX-License-Identifier: Apache-2.0 */
/* Command line and INI file together: see configuration.h. */
#include "config/configuration.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <iaprof/host.h>
#include <iaprof/profile.h>

#include "base/cleanup.h"
#include "config/instance_configuration.h"
#include "config/layer.h"
#include "config/option_table.h"
#include "config/value.h"

/* Longer than anybody waits; short enough to be added to any time. */
#define YEAR 31536000000000000ULL
#define MILLISECOND 1000000ULL
#define FINISH_WITHIN_DEFAULT (2000 * MILLISECOND)

/* The largest process id that Linux gives: PID_MAX_LIMIT in include/linux/threads.h. */
#define PID_MAX 4194304

/* The options of the run itself; [iaprof] and the command line have the same names and the same checks. */
struct run_values {
	uint64_t duration;
	uint64_t interval;
	uint64_t hold;
	uint64_t finish_within;
	uint64_t scope; /* index of scopes */
	uint64_t verbose;
	char *pid;
	char *output;
	char *record;
	char *replay;
	char *before;
	char *after;
	uint64_t normalize; /* enum iaprof_normalization */
	char *eu_stall_subsample;
	bool quiet;
};

static const char *const scopes[] = { "system", "command", NULL };
static const char *const normalizations[] = { "none", "total", "duration", NULL };

#define RUN_OPTION(member, option_type, ...)                                                                           \
	{                                                                                                              \
		.name = #member, .type = (option_type), .offset = offsetof(struct run_values, member), __VA_ARGS__     \
	}

static const struct iaprof_option run_options[] = {
	RUN_OPTION(duration, IAPROF_OPTION_DURATION, .minimum = MILLISECOND, .maximum = YEAR),
	/* A plain number is in ms, as in --interval=MS of Intel's AI flame graph profiler, which has this name too. */
	RUN_OPTION(interval, IAPROF_OPTION_DURATION, .minimum = MILLISECOND, .maximum = YEAR, .unit = "ms"),
	/* Device code of the last 30 s can be looked up (profile/device_code.c). */
	RUN_OPTION(hold, IAPROF_OPTION_DURATION, .minimum = MILLISECOND, .maximum = 20 * 1000 * MILLISECOND),
	{ .name = "finish-within",
	  .type = IAPROF_OPTION_DURATION,
	  .offset = offsetof(struct run_values, finish_within),
	  .minimum = 100 * MILLISECOND,
	  .maximum = 3600 * 1000 * MILLISECOND },
	RUN_OPTION(scope, IAPROF_OPTION_CHOICE, .choices = scopes),
	RUN_OPTION(pid, IAPROF_OPTION_STRING),
	RUN_OPTION(output, IAPROF_OPTION_STRING),
	RUN_OPTION(record, IAPROF_OPTION_STRING),
	RUN_OPTION(replay, IAPROF_OPTION_STRING),
	RUN_OPTION(before, IAPROF_OPTION_STRING), /* --diff is both of these */
	RUN_OPTION(after, IAPROF_OPTION_STRING),
	RUN_OPTION(normalize, IAPROF_OPTION_CHOICE, .choices = normalizations),
	RUN_OPTION(verbose, IAPROF_OPTION_UINT, .maximum = 2),
	RUN_OPTION(quiet, IAPROF_OPTION_BOOL),
	{ .name = "eu-stall-subsample",
	  .type = IAPROF_OPTION_STRING,
	  .offset = offsetof(struct run_values, eu_stall_subsample) },
};

/* Other names for an option of sources: the same profiler's, with the same meaning. */
static const struct {
	const char *name, *option;
} source_options[] = { { "eu-stall-subsample", "subsample" } };
#define SOURCE_OPTION_COUNT (sizeof source_options / sizeof *source_options)

static const struct option_table run_table = { run_options, sizeof run_options / sizeof *run_options,
					       sizeof *run_options };

/* Options that say the same thing in two ways: both at once is a contradiction. */
static const char *const exclusive_pairs[][2] = { { "scope", "pid" }, { "verbose", "quiet" } };

static void run_values_release(struct run_values *values)
{
	option_table_release(&run_table, values);
}

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
	free(configuration->output);
	free(configuration->record_path);
	instance_release(&configuration->record);
	free(configuration->replay_path);
	free(configuration->before_path);
	free(configuration->after_path);
	array_free(&configuration->pids);
	for (size_t i = 0; i < configuration->source_settings.count; i++)
		setting_release(&configuration->source_settings.items[i]);
	array_free(&configuration->source_settings);
	instance_list_release(&configuration->sources);
	instance_list_release(&configuration->sinks);
	instance_list_release(&configuration->decoders);
	*configuration = (struct configuration){ 0 };
}

/* "1,2,3", blanks around the numbers or not; each once, however often it is named. */
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
			return error_set(error, EINVAL, "pid: '%s' is no process id (1 to %d)",
					 value_excerpt(item).text, PID_MAX);
		bool known = false;
		for (size_t i = 0; i < configuration->pids.count; i++)
			known |= configuration->pids.items[i] == pid;
		if (!known && !array_push(&configuration->pids, (uint32_t)pid))
			return error_set(error, ENOMEM, "pid: out of memory");
	}
	return 0;
}

static bool is_source_option(const char *name)
{
	for (size_t i = 0; i < SOURCE_OPTION_COUNT; i++)
		if (strcmp(source_options[i].name, name) == 0)
			return true;
	return false;
}

/* Each setting by itself: also the one that another overrides has to be right. */
static int check_settings(const struct instance_configuration *run, struct error *error)
{
	CLEANUP(run_values_release) struct run_values values = { 0 };
	CLEANUP(configuration_free) struct configuration scratch = { 0 };

	for (size_t i = 0; i < run->settings.count; i++) {
		const struct setting *setting = &run->settings.items[i];
		int result = option_table_set(&run_table, &values, setting->key, setting->value, error);
		if (result == 0 && strcmp(setting->key, "pid") == 0)
			result = read_pids(&scratch, setting->value, error);
		else if (result == 0 && !*setting->value && !is_source_option(setting->key))
			result = error_set(error, EINVAL, "%s: the name of a file is missing", setting->key);
		if (result < 0)
			return error_wrap(error, "%s", setting->origin);
	}
	return 0;
}

/* The setting that counts: the command line's; else the file's, unless the command line says the opposite. */
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

/* Two things that do not go together, each with the place it comes from. */
static int refuse_both(const struct setting *one, const char *other, const char *other_origin, struct error *error)
{
	return error_set(error, EINVAL, "%s (%s) and %s (%s) exclude each other: leave one out", one->key, one->origin,
			 other, other_origin);
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

/* A recording says itself what was profiled, and for how long. excluded: keys, ending with NULL. */
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
		return refuse_both(recorded, "a command to run", configuration->command[0], error);
	return 0;
}

static int check_replay(const struct configuration *configuration, const struct configuration_layer *file,
			const struct configuration_layer *command_line, struct error *error)
{
	static const char *const excluded[] = { "duration", "pid", "scope", NULL };
	const struct setting *replay = choose(file, command_line, "replay");

	int result = replay ? check_recorded(configuration, file, command_line, replay, excluded, error) : 0;
	if (!replay || result < 0)
		return result;
	if (configuration->record_path && strcmp(configuration->record_path, configuration->replay_path) == 0)
		return error_set(error, EINVAL, "record and replay name the same file: %s", configuration->record_path);
	return 0;
}

/* A difference is of two recordings, each as a whole. */
static int check_difference(const struct configuration *configuration, const struct configuration_layer *file,
			    const struct configuration_layer *command_line, struct error *error)
{
	static const char *const excluded[] = { "replay", "record", "duration", "interval", "pid", "scope", NULL };
	const struct setting *before = choose(file, command_line, "before");
	const struct setting *after = choose(file, command_line, "after");
	const struct setting *normalize = choose(file, command_line, "normalize");

	if (!before != !after)
		return error_set(error, EINVAL, "%s (%s) without %s: a difference is of two files",
				 before ? before->key : after->key, before ? before->origin : after->origin,
				 before ? "after" : "before");
	if (before)
		return check_recorded(configuration, file, command_line, before, excluded, error);
	if (normalize)
		return error_set(error, EINVAL, "normalize (%s) is for differences: add --diff BEFORE AFTER",
				 normalize->origin);
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
 * -o names the file of the only sink. Its own output key on the command line overrides an output in the file; both in
 * one place is a contradiction. Before the sinks leave their layers.
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
	return error_set(error, EINVAL,
			 "output (%s) names the file of one sink, but there are %zu: write output= for each of them",
			 output->origin, configuration->sinks.count);
}

static int add_source_settings(struct configuration *configuration, const struct configuration_layer *file,
			       const struct configuration_layer *command_line, struct error *error)
{
	for (size_t i = 0; i < SOURCE_OPTION_COUNT; i++) {
		const struct setting *setting = choose(file, command_line, source_options[i].name);
		if (!setting)
			continue;
		struct setting own = { strdup(source_options[i].option), strdup(setting->value), NULL };
		if (asprintf(&own.origin, "%s: %s", setting->origin, setting->key) < 0)
			own.origin = NULL;
		if (!own.key || !own.value || !own.origin || !array_push(&configuration->source_settings, own)) {
			setting_release(&own);
			return error_set(error, ENOMEM, "out of memory");
		}
	}
	return 0;
}

/* Where ",KEY=VALUE" begins behind the name of a file, which may have commas of its own; NULL: nowhere. */
static char *find_keys(char *text)
{
	for (char *comma = text; (comma = strchr(comma, ',')); comma++) {
		size_t length = strspn(comma + 1, "abcdefghijklmnopqrstuvwxyz-");
		if (length && comma[1 + length] == '=')
			return comma;
	}
	return NULL;
}

/* "FILE" or "FILE,KEY=VALUE,...": the keys are those of sink capture. */
static int read_record(struct configuration *configuration, const char *origin, struct error *error)
{
	char *text CLEANUP_FREE = NULL,
		   *keys = configuration->record_path ? find_keys(configuration->record_path) : NULL;
	if (!keys)
		return 0;
	*keys = '\0';
	if (!*configuration->record_path)
		return error_set(error, EINVAL, "%s: record: the name of a file is missing", origin);
	if (asprintf(&text, "capture:%s", keys + 1) < 0)
		return error_set(error, ENOMEM, "out of memory");
	int result = instance_read_argument(&configuration->record, text, "--record", error);
	if (result == 0 && instance_find_setting(&configuration->record, "output"))
		return error_set(error, EINVAL,
				 "--record: output is set twice: the file comes first, as in FILE,KEY=VALUE");
	return result;
}

/* The values that count, moved into the configuration. */
static int set_run_values(struct configuration *configuration, const struct configuration_layer *file,
			  const struct configuration_layer *command_line, struct error *error)
{
	CLEANUP(run_values_release) struct run_values values = { 0 };

	for (size_t i = 0; i < run_table.count; i++) {
		const struct setting *setting = choose(file, command_line, run_options[i].name);
		int result = setting ? option_table_set(&run_table, &values, setting->key, setting->value, error) : 0;
		if (result < 0)
			return result;
	}
	configuration->duration = values.duration;
	configuration->interval = values.interval;
	configuration->hold = values.hold;
	configuration->finish_within = values.finish_within ? values.finish_within : FINISH_WITHIN_DEFAULT;
	configuration->scope = values.scope == 0 ? IAPROF_SCOPE_SYSTEM : IAPROF_SCOPE_COMMAND;
	configuration->verbosity = values.quiet ? -1 : (int)values.verbose;
	configuration->output = STEAL_POINTER(values.output);
	configuration->record_path = STEAL_POINTER(values.record);
	configuration->replay_path = STEAL_POINTER(values.replay);
	configuration->before_path = STEAL_POINTER(values.before);
	configuration->after_path = STEAL_POINTER(values.after);
	configuration->normalization = (int)values.normalize;
	const struct setting *record = choose(file, command_line, "record");
	int result = record ? read_record(configuration, record->origin, error) : 0;
	if (result < 0)
		return result;
	if (!values.pid)
		return 0;
	configuration->scope = IAPROF_SCOPE_PIDS;
	return read_pids(configuration, values.pid, error);
}

int configuration_combine(struct configuration *configuration, struct configuration_layer *file,
			  struct configuration_layer *command_line, struct error *error)
{
	int result = check_settings(&file->run, error);
	if (result == 0)
		result = check_settings(&command_line->run, error);
	if (result == 0)
		result = check_exclusive_pairs(file, command_line, error);
	if (result == 0)
		result = set_run_values(configuration, file, command_line, error);
	if (result == 0)
		result = add_source_settings(configuration, file, command_line, error);
	if (result == 0)
		result = settle_output(configuration, file, command_line, error);
	if (result == 0)
		result = instance_list_override(&configuration->sources, &file->sources, error);
	if (result == 0)
		result = instance_list_override(&configuration->sources, &command_line->sources, error);
	if (result == 0)
		result = instance_list_override(&configuration->sinks, &file->sinks, error);
	if (result == 0)
		result = instance_list_override(&configuration->sinks, &command_line->sinks, error);
	if (result == 0)
		result = instance_list_override(&configuration->decoders, &file->decoders, error);
	if (result == 0)
		result = instance_list_override(&configuration->decoders, &command_line->decoders, error);
	if (result == 0)
		result = check_replay(configuration, file, command_line, error);
	if (result == 0)
		result = check_difference(configuration, file, command_line, error);
	if (result == 0)
		result = check_sink_count(configuration, file, command_line, error);
	if (result == 0 && configuration->scope == IAPROF_SCOPE_COMMAND && !configuration->command)
		return error_set(error, EINVAL, "scope is 'command', but there is no command to run: add one");
	return result;
}

int configuration_read(struct configuration *configuration, int argc, char **argv, struct error *error)
{
	CLEANUP(configuration_layer_release) struct configuration_layer file = { 0 };
	CLEANUP(configuration_layer_release) struct configuration_layer command_line = { 0 };

	int result = command_line_read(configuration, &command_line, argc, argv, error);
	if (result == 0 && configuration->action != ACTION_RUN && configuration->action != ACTION_CHECK)
		return 0;
	if (result == 0 && configuration->config_path)
		result = ini_file_read(&file, configuration->config_path, error);
	if (result == 0)
		result = configuration_combine(configuration, &file, &command_line, error);
	return result;
}
