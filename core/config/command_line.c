/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the command line into a layer: see layer.h. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "config/foreign_usage.h"
#include "config/instance_configuration.h"
#include "config/layer.h"
#include "config/run_options.h"
#include "config/value.h"

/* What getopt_long() returns for options without a letter: this, and the index of the option. */
#define WITHOUT_LETTER 256

/* The options as getopt_long() takes them. */
struct syntax {
	struct option names[RUN_OPTIONS_MAX];
	char letters[3 + 3 * RUN_OPTIONS_MAX];
};

static void make_syntax(struct syntax *syntax)
{
	size_t count = 0;
	/* '+': the command begins at the first non-option. ':': getopt() reports missing values separately. */
	char *letter = stpcpy(syntax->letters, "+:");
	for (size_t i = 0; i < run_option_count; i++) {
		const struct run_option *option = &run_options[i];
		if (!option->text)
			continue;
		bool is_optional = option->argument && option->argument[0] == '[';
		bool has_value = run_option_has_value(option);
		syntax->names[count++] = (struct option){
			.name = option->name,
			.has_arg = is_optional ? optional_argument
				   : has_value ? required_argument
					       : no_argument,
			.val = option->letter ? option->letter : WITHOUT_LETTER + (int)i,
		};
		if (option->letter)
			*letter++ = option->letter;
		if (option->letter && has_value)
			letter = stpcpy(letter, is_optional ? "::" : ":");
	}
	syntax->names[count] = (struct option){ 0 };
	*letter = '\0';
}

static const struct run_option *find_option(int value)
{
	for (size_t i = 0; i < run_option_count; i++)
		if (value == WITHOUT_LETTER + (int)i || (value && run_options[i].letter == value))
			return &run_options[i];
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
	const char *known[RUN_OPTIONS_MAX] = { NULL };
	size_t count = 0;
	const struct run_option *option = find_option(value);

	if (option)
		return error_set(error, EINVAL, "--%s does not take a value", option->name);
	if (value > ' ' && value < 0x7f && explain_foreign(letter, "-", argument, error))
		return error->code;
	if (value > ' ' && value < 0x7f)
		return error_set(error, EINVAL, "unknown option -%c: see iaprof --help all", value);
	if (value)
		return error_set(error, EINVAL, "unknown option (not an ASCII letter): see iaprof --help all");
	char *name CLEANUP_FREE = strndup(word + 2, strcspn(word + 2, "="));
	if (!name)
		return out_of_memory(error);
	if (explain_foreign(name, "--", argument, error))
		return error->code;
	char candidates[512] = "";
	for (size_t i = 0; i < run_option_count; i++) {
		size_t length = strlen(candidates);
		if (!run_options[i].text)
			continue;
		known[count++] = run_options[i].name;
		if (strncmp(run_options[i].name, name, strlen(name)) == 0)
			snprintf(candidates + length, sizeof candidates - length, " --%s", run_options[i].name);
	}
	if (candidates[0])
		return error_set(error, EINVAL, "--%s is ambiguous:%s", value_excerpt(name).text, candidates);
	const char *nearest = value_nearest_name(name, known);
	return error_set(error, EINVAL, "unknown option --%s: %s%s%s", value_excerpt(name).text,
			 nearest ? "did you mean --" : "see iaprof --help all", nearest ? nearest : "",
			 nearest ? "?" : "");
}

/* separator: between this value and earlier ones; 0: it replaces them. */
static int set_run_setting(struct configuration_layer *layer, const char *key, const char *value, char separator,
			   const char *origin, struct error *error)
{
	struct setting *earlier = instance_find_setting(&layer->run, key);
	if (!earlier)
		return instance_add_setting(&layer->run, key, value, origin, error);
	char *text = separator ? format_new("%s%c%s", earlier->value, separator, value) : strdup(value);
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
		return error_set(error, EINVAL, "--list and --check are mutually exclusive");
	configuration->action = action;
	return 0;
}

/* Reads the second value of "--diff BEFORE AFTER": getopt_long() supports options with one value only. */
static int take_difference(struct configuration_layer *layer, int argc, char **argv, struct error *error)
{
	if (optind >= argc || argv[optind][0] == '-')
		return error_set(error, EINVAL, "--diff requires two files: --diff BEFORE AFTER");
	int result = set_run_setting(layer, "before", optarg, 0, "--diff", error);
	return result < 0 ? result : set_run_setting(layer, "after", argv[optind++], 0, "--diff", error);
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
	return set_run_setting(layer, alias, equals ? equals + 1 : argv[optind++], 0, COMMAND_LINE, error);
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

/* Handles "-v" and "-v -v". */
static int count(struct configuration_layer *layer, const struct run_option *option, struct error *error)
{
	const struct setting *earlier = instance_find_setting(&layer->run, option->name);
	return set_run_setting(layer, option->name, earlier ? "2" : "1", 0, COMMAND_LINE, error);
}

/* Handles one option with its value in optarg. */
static int take_option(struct configuration *configuration, struct configuration_layer *layer,
		       const struct run_option *option, int argc, char **argv, struct error *error)
{
	switch (option->action) {
	case OPTION_SETS:
	case OPTION_LISTS:
		return set_run_setting(layer, option->name, optarg, option->separator, COMMAND_LINE, error);
	case OPTION_ENABLES:
		return set_run_setting(layer, option->name, "yes", 0, COMMAND_LINE, error);
	case OPTION_COUNTS:
		return count(layer, option, error);
	case OPTION_SOURCE:
		return add_instance(&layer->sources, optarg, "--source", error);
	case OPTION_SINK:
		return add_instance(&layer->sinks, optarg, "--sink", error);
	case OPTION_DECODER:
		return add_instance(&layer->decoders, optarg, "--decoder", error);
	case OPTION_DIFF:
		return take_difference(layer, argc, argv, error);
	case OPTION_CONFIG:
		return replace_text(&configuration->config_path, optarg, error);
	case OPTION_LIST:
		return set_action(configuration, ACTION_LIST, error);
	case OPTION_CHECK:
		return set_action(configuration, ACTION_CHECK, error);
	case OPTION_SELF_TEST:
		return error_set(error, EINVAL, "--self-test must be the first option");
	case OPTION_HELP:
		return take_help(configuration, argv, error);
	case OPTION_VERSION:
		configuration->action = ACTION_VERSION;
		break;
	}
	return 0;
}

/* Returns whether an option makes the rest of the command line irrelevant. */
static bool is_last(const struct run_option *option)
{
	return option->action == OPTION_HELP || option->action == OPTION_VERSION;
}

static int read_line(struct configuration *configuration, struct configuration_layer *layer, int argc, char **argv,
		     const struct syntax *syntax, const struct option_aliases *aliases, struct error *error)
{
	int value, result = 0;
	bool is_alias;

	while (result == 0 && (value = getopt_long(argc, argv, syntax->letters, syntax->names, NULL)) != -1) {
		const struct run_option *option = value == ':' || value == '?' ? NULL : find_option(value);
		if (value == ':')
			return error_set(error, EINVAL, "--%s requires a value", find_option(optopt)->name);
		if (value == '?') {
			result = take_alias(layer, aliases, argc, argv, &is_alias, error);
			if (!is_alias)
				return explain_option(argv[optind - 1], optopt, value_of_rejected(argc, argv, optopt),
						      error);
			continue;
		}
		/* For aliases that follow. */
		if (!strcmp(option->name, "plugin-path"))
			result = plugin_folders_add(aliases, optarg, "--plugin-path", error);
		if (!result)
			result = take_option(configuration, layer, option, argc, argv, error);
		if (is_last(option))
			return result;
	}
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

/* Returns the command after an option with an error, NULL if there is none: the exit status depends on it. */
static char **find_command(int argc, char **argv, const struct syntax *syntax)
{
	/* The value of an option of another profiler, such as -F 99. */
	if (optind < argc && isdigit((unsigned char)argv[optind][0]))
		optind++;
	while (getopt_long(argc, argv, syntax->letters, syntax->names, NULL) != -1)
		;
	return optind < argc ? argv + optind : NULL;
}

int command_line_read(struct configuration *configuration, struct configuration_layer *layer, int argc, char **argv,
		      const struct option_aliases *aliases, struct error *error)
{
	struct syntax syntax;
	make_syntax(&syntax);
	opterr = 0;
	optind = 0; /* resets getopt_long() of glibc, for callers that read several command lines */
	int result = read_line(configuration, layer, argc, argv, &syntax, aliases, error);
	if (result && !configuration->command)
		configuration->command = find_command(argc, argv, &syntax);
	return result;
}
