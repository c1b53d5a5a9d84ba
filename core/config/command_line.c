/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the command line into a layer: see layer.h. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "config/foreign_usage.h"
#include "config/instance_configuration.h"
#include "config/layer.h"
#include "config/value.h"

/* Origin of settings, for messages. */
#define COMMAND_LINE "command line"

/* Options without a short form. */
enum {
	OPTION_SCOPE = 256,
	OPTION_CONTINUOUS,
	OPTION_MEMORY,
	OPTION_BUDGET,
	OPTION_CHILDREN,
	OPTION_CGROUP,
	OPTION_CONTAINER,
	OPTION_DEBUGINFOD,
	OPTION_DECODER,
	OPTION_RECORD,
	OPTION_REPLAY,
	OPTION_DIFF,
	OPTION_NORMALIZE,
	OPTION_LIST,
	OPTION_CHECK,
	OPTION_VERSION,
	OPTION_HOLD,
	OPTION_FINISH_WITHIN,
	OPTION_PLUGIN_PATH,
	OPTION_NEW_PLUGIN
};

/* '+': the command begins at the first non-option. ':': getopt() reports missing values separately. */
static const char letters[] = "+:c:s:k:d:i:p:o:hvq";
static const struct option names[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "source", required_argument, NULL, 's' },
	{ "sink", required_argument, NULL, 'k' },
	{ "decoder", required_argument, NULL, OPTION_DECODER },
	{ "duration", required_argument, NULL, 'd' },
	{ "interval", required_argument, NULL, 'i' },
	{ "continuous", no_argument, NULL, OPTION_CONTINUOUS },
	{ "memory", required_argument, NULL, OPTION_MEMORY },
	{ "budget", required_argument, NULL, OPTION_BUDGET },
	{ "hold", required_argument, NULL, OPTION_HOLD },
	{ "finish-within", required_argument, NULL, OPTION_FINISH_WITHIN },
	{ "pid", required_argument, NULL, 'p' },
	{ "children", required_argument, NULL, OPTION_CHILDREN },
	{ "cgroup", required_argument, NULL, OPTION_CGROUP },
	{ "container", required_argument, NULL, OPTION_CONTAINER },
	{ "debuginfod", required_argument, NULL, OPTION_DEBUGINFOD },
	{ "scope", required_argument, NULL, OPTION_SCOPE },
	{ "output", required_argument, NULL, 'o' },
	{ "record", required_argument, NULL, OPTION_RECORD },
	{ "replay", required_argument, NULL, OPTION_REPLAY },
	{ "diff", required_argument, NULL, OPTION_DIFF },
	{ "normalize", required_argument, NULL, OPTION_NORMALIZE },
	{ "plugin-path", required_argument, NULL, OPTION_PLUGIN_PATH },
	{ "new-plugin", required_argument, NULL, OPTION_NEW_PLUGIN },
	{ "list", no_argument, NULL, OPTION_LIST },
	{ "check", no_argument, NULL, OPTION_CHECK },
	{ "help", optional_argument, NULL, 'h' },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ "verbose", no_argument, NULL, 'v' },
	{ "quiet", no_argument, NULL, 'q' },
	{ NULL, 0, NULL, 0 },
};
#define NAME_COUNT (sizeof names / sizeof *names - 1)

static const struct option *find_option(int value)
{
	for (size_t i = 0; i < NAME_COUNT; i++)
		if (names[i].val == value)
			return &names[i];
	return NULL;
}

static int out_of_memory(struct error *error)
{
	return error_set(error, ENOMEM, "out of memory");
}

/* Returns the value of an option that getopt_long() rejected: "-F 99", "-F99", "--freq 99" or "--freq=99". */
static const char *value_of_rejected(int argc, char **argv, int letter)
{
	const char *word = argv[optind - 1], *next = optind < argc ? argv[optind] : NULL, *equals = strchr(word, '=');
	if (!letter && equals)
		return equals + 1;
	/* getopt_long() has not finished a word with several letters. */
	if (letter && next && next[0] == '-' && next[1] == letter)
		return next + 2;
	return next;
}

/* Rejects an option of another profiler. Returns 0 if it is none. */
static int explain_foreign(const char *name, const char *dashes, const char *value, struct error *error)
{
	char hint[128];
	if (!foreign_option_hint(name, value, hint, sizeof hint))
		return 0;
	return error_set(error, EINVAL, "unknown option %s%s: %s", dashes, name, hint);
}

/* Explains why getopt_long() rejected word: unknown, ambiguous, or a value for an option that takes none. */
static int explain_option(const char *word, int value, const char *argument, struct error *error)
{
	const char letter[] = { (char)value, '\0' };
	const char *known[NAME_COUNT + 1] = { NULL };
	const struct option *option = value ? find_option(value) : NULL;

	if (option)
		return error_set(error, EINVAL, "--%s does not take a value", option->name);
	if (value > ' ' && value < 0x7f && explain_foreign(letter, "-", argument, error))
		return error->code;
	if (value > ' ' && value < 0x7f)
		return error_set(error, EINVAL, "unknown option -%c: see iaprof --help", value);
	if (value)
		return error_set(error, EINVAL, "unknown option (not an ASCII letter): see iaprof --help");
	char *name CLEANUP_FREE = strndup(word + 2, strcspn(word + 2, "="));
	if (!name)
		return out_of_memory(error);
	if (explain_foreign(name, "--", argument, error))
		return error->code;
	char candidates[512] = "";
	for (size_t i = 0; i < NAME_COUNT; i++) {
		size_t length = strlen(candidates);
		known[i] = names[i].name;
		if (strncmp(names[i].name, name, strlen(name)) == 0)
			snprintf(candidates + length, sizeof candidates - length, " --%s", names[i].name);
	}
	if (candidates[0])
		return error_set(error, EINVAL, "--%s is ambiguous:%s", value_excerpt(name).text, candidates);
	const char *nearest = value_nearest_name(name, known);
	return error_set(error, EINVAL, "unknown option --%s: %s%s%s", value_excerpt(name).text,
			 nearest ? "did you mean --" : "see iaprof --help", nearest ? nearest : "", nearest ? "?" : "");
}

/* Returns the separator of a setting whose values accumulate, or NULL: the last value wins. */
static const char *separator_of(const char *key)
{
	return strcmp(key, "pid") == 0 ? "," : strcmp(key, "plugin-path") == 0 ? ":" : NULL;
}

static int set_run_setting(struct configuration_layer *layer, const char *key, const char *value, const char *origin,
			   struct error *error)
{
	struct setting *earlier = instance_find_setting(&layer->run, key);
	if (!earlier)
		return instance_add_setting(&layer->run, key, value, origin, error);
	const char *separator = separator_of(key);
	char *text = separator ? format_new("%s%s%s", earlier->value, separator, value) : strdup(value);
	if (!text)
		return out_of_memory(error);
	free(earlier->value);
	earlier->value = text;
	return 0;
}

static int add_instance(struct instance_list *list, const char *argument, const char *option, struct error *error)
{
	CLEANUP(instance_release) struct instance_configuration instance = { 0 };
	int result = instance_read_argument(&instance, argument, option, error);
	return result < 0 ? result : instance_list_add(list, &instance, error);
}

static int replace_text(char **text, const char *value, struct error *error)
{
	free(*text);
	*text = strdup(value);
	return *text ? 0 : out_of_memory(error);
}

static int set_action(struct configuration *configuration, enum configuration_action action, struct error *error)
{
	if (configuration->action != ACTION_RUN && configuration->action != action)
		return error_set(error, EINVAL, "--list, --check and --new-plugin are mutually exclusive");
	configuration->action = action;
	return 0;
}

/* Reads the second value of "--diff BEFORE AFTER": getopt_long() supports options with one value only. */
static int take_difference(struct configuration_layer *layer, int argc, char **argv, struct error *error)
{
	if (optind >= argc || argv[optind][0] == '-')
		return error_set(error, EINVAL, "--diff requires two files: --diff BEFORE AFTER");
	int result = set_run_setting(layer, "before", optarg, "--diff", error);
	return result < 0 ? result : set_run_setting(layer, "after", argv[optind++], "--diff", error);
}

/* Reads the second value of "--new-plugin KIND NAME". */
static int take_new_plugin(struct configuration *configuration, int argc, char **argv, struct error *error)
{
	if (optind >= argc || argv[optind][0] == '-')
		return error_set(error, EINVAL,
				 "--new-plugin requires a kind and a name: --new-plugin source|sink|decoder NAME");
	int result = set_action(configuration, ACTION_NEW_PLUGIN, error);
	if (result == 0)
		result = replace_text(&configuration->new_plugin_kind, optarg, error);
	return result < 0 ? result : replace_text(&configuration->new_plugin_name, argv[optind++], error);
}

/* Returns the alias that a word "--NAME" or "--NAME=VALUE" names or abbreviates; NULL: none, or ambiguous. */
static const char *find_alias(const struct option_aliases *aliases, const char *word)
{
	const char *const *known = aliases && strncmp(word, "--", 2) == 0 ? aliases->list(aliases->context) : NULL;
	const char *found = NULL;
	size_t length = known ? strcspn(word + 2, "=") : 0;
	for (; length && *known; known++) {
		if (strncmp(*known, word + 2, length) != 0)
			continue;
		if (found)
			return NULL;
		found = *known;
		if (!found[length])
			break;
	}
	return found;
}

/*
 * Handles an option unknown to getopt_long() that is an alias of a source's option, with its value. *taken: whether it
 * is one.
 */
static int take_alias(struct configuration_layer *layer, const struct option_aliases *aliases, int argc, char **argv,
		      bool *taken, struct error *error)
{
	const char *word = argv[optind - 1], *alias = optopt ? NULL : find_alias(aliases, word);
	const char *equals = strchr(word, '=');
	*taken = alias;
	if (!alias)
		return 0;
	if (!equals && optind >= argc)
		return error_set(error, EINVAL, "--%s needs a value", alias);
	return set_run_setting(layer, alias, equals ? equals + 1 : argv[optind++], COMMAND_LINE, error);
}

/* Handles one option with its value in optarg. */
static int take_option(struct configuration *configuration, struct configuration_layer *layer, int value,
		       struct error *error)
{
	switch (value) {
	case 'c':
		return replace_text(&configuration->config_path, optarg, error);
	case 's':
		return add_instance(&layer->sources, optarg, "--source", error);
	case 'k':
		return add_instance(&layer->sinks, optarg, "--sink", error);
	case OPTION_DECODER:
		return add_instance(&layer->decoders, optarg, "--decoder", error);
	case OPTION_LIST:
		return set_action(configuration, ACTION_LIST, error);
	case OPTION_CHECK:
		return set_action(configuration, ACTION_CHECK, error);
	default:
		return set_run_setting(layer, find_option(value)->name, optarg, COMMAND_LINE, error);
	}
}

int plugin_folders_add(const struct option_aliases *aliases, const char *folders, const char *origin,
		       struct error *error)
{
	int result = aliases && aliases->add_folders ? aliases->add_folders(aliases->context, folders, error) : 0;
	return result ? error_wrap(error, "%s", origin) : 0;
}

/* Handles "--help", "--help=NAME" and "--help NAME". */
static int take_help(struct configuration *configuration, char **argv, struct error *error)
{
	const char *plugin = optarg ? optarg : argv[optind];
	configuration->action = ACTION_HELP;
	if (!plugin || (!optarg && plugin[0] == '-'))
		return 0;
	return replace_text(&configuration->help_plugin, plugin, error);
}

int command_line_read(struct configuration *configuration, struct configuration_layer *layer, int argc, char **argv,
		      const struct option_aliases *aliases, struct error *error)
{
	int value, result = 0, verbosity = 0;
	bool quiet = false, is_alias;

	opterr = 0;
	optind = 0; /* resets getopt_long() of glibc, for callers that read several command lines */
	while (result == 0 && (value = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		switch (value) {
		case ':':
			return error_set(error, EINVAL, "--%s requires a value", find_option(optopt)->name);
		case '?':
			result = take_alias(layer, aliases, argc, argv, &is_alias, error);
			if (!is_alias)
				return explain_option(argv[optind - 1], optopt, value_of_rejected(argc, argv, optopt),
						      error);
			break;
		case 'h':
			return take_help(configuration, argv, error);
		case OPTION_VERSION:
			configuration->action = ACTION_VERSION;
			return 0;
		case 'v':
			verbosity += verbosity < 2;
			break;
		case 'q':
			quiet = true;
			break;
		case OPTION_CONTINUOUS:
			result = set_run_setting(layer, "continuous", "yes", COMMAND_LINE, error);
			break;
		case OPTION_PLUGIN_PATH:
			result = plugin_folders_add(aliases, optarg, "--plugin-path", error);
			if (result == 0)
				result = set_run_setting(layer, "plugin-path", optarg, COMMAND_LINE, error);
			break;
		case OPTION_NEW_PLUGIN:
			result = take_new_plugin(configuration, argc, argv, error);
			break;
		case OPTION_DIFF:
			result = take_difference(layer, argc, argv, error);
			break;
		default:
			result = take_option(configuration, layer, value, error);
			break;
		}
	}
	if (result == 0 && verbosity > 0)
		result = set_run_setting(layer, "verbose", verbosity == 1 ? "1" : "2", COMMAND_LINE, error);
	if (result == 0 && quiet)
		result = set_run_setting(layer, "quiet", "yes", COMMAND_LINE, error);
	if (result == 0 && optind < argc)
		configuration->command = argv + optind;
	/* "iaprof -- top" and "iaprof /usr/bin/top" profile the program of that name. */
	const char *hint = result == 0 && optind == 1 && argc > 1 ? foreign_subcommand_hint(argv[1]) : NULL;
	if (hint)
		return error_set(error, EINVAL, "%s is not a subcommand: %s (iaprof -- %s profiles that program)",
				 argv[1], hint, argv[1]);
	if (result == 0 && configuration->command && configuration->action == ACTION_LIST)
		return error_set(error, EINVAL, "--list does not take a command");
	return result;
}
