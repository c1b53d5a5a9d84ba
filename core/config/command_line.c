/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the command line into a layer: see layer.h. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/instance_configuration.h"
#include "config/layer.h"
#include "config/value.h"

/* Where settings come from, in messages. */
#define COMMAND_LINE "command line"

/* Options without a letter. */
enum {
	OPTION_SCOPE = 256,
	OPTION_DECODER,
	OPTION_RECORD,
	OPTION_REPLAY,
	OPTION_DIFF,
	OPTION_NORMALIZE,
	OPTION_LIST,
	OPTION_CHECK,
	OPTION_VERSION,
	OPTION_EU_STALL_SUBSAMPLE,
	OPTION_HOLD,
	OPTION_FINISH_WITHIN
};

/* '+': the first word that is no option begins the command. ':': a missing value is told from an unknown option. */
static const char letters[] = "+:c:s:k:d:i:p:o:hvq";
static const struct option names[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "source", required_argument, NULL, 's' },
	{ "sink", required_argument, NULL, 'k' },
	{ "decoder", required_argument, NULL, OPTION_DECODER },
	{ "duration", required_argument, NULL, 'd' },
	{ "interval", required_argument, NULL, 'i' },
	{ "eu-stall-subsample", required_argument, NULL, OPTION_EU_STALL_SUBSAMPLE },
	{ "hold", required_argument, NULL, OPTION_HOLD },
	{ "finish-within", required_argument, NULL, OPTION_FINISH_WITHIN },
	{ "pid", required_argument, NULL, 'p' },
	{ "scope", required_argument, NULL, OPTION_SCOPE },
	{ "output", required_argument, NULL, 'o' },
	{ "record", required_argument, NULL, OPTION_RECORD },
	{ "replay", required_argument, NULL, OPTION_REPLAY },
	{ "diff", required_argument, NULL, OPTION_DIFF },
	{ "normalize", required_argument, NULL, OPTION_NORMALIZE },
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

/* getopt_long() refused word: an unknown or ambiguous long option, an unknown letter, or a value for an option without.
 */
static int explain_option(const char *word, int value, struct error *error)
{
	const char *known[NAME_COUNT + 1] = { NULL };
	const struct option *option = value ? find_option(value) : NULL;

	if (option)
		return error_set(error, EINVAL, "--%s takes no value", option->name);
	if (value > ' ' && value < 0x7f)
		return error_set(error, EINVAL, "unknown option -%c: see iaprof --help", value);
	if (value)
		return error_set(error, EINVAL, "unknown option, which is no ASCII letter: see iaprof --help");
	char *name CLEANUP_FREE = strndup(word + 2, strcspn(word + 2, "="));
	if (!name)
		return out_of_memory(error);
	char candidates[256] = "";
	for (size_t i = 0; i < NAME_COUNT; i++) {
		size_t length = strlen(candidates);
		known[i] = names[i].name;
		if (strncmp(names[i].name, name, strlen(name)) == 0)
			snprintf(candidates + length, sizeof candidates - length, " --%s", names[i].name);
	}
	if (candidates[0])
		return error_set(error, EINVAL, "--%s is not enough to tell these options apart:%s",
				 value_excerpt(name).text, candidates);
	const char *nearest = value_nearest_name(name, known);
	return error_set(error, EINVAL, "unknown option --%s: %s%s%s", value_excerpt(name).text,
			 nearest ? "did you mean --" : "see iaprof --help", nearest ? nearest : "", nearest ? "?" : "");
}

/* The last one counts; process ids add up. */
static int set_run_setting(struct configuration_layer *layer, const char *key, const char *value, const char *origin,
			   struct error *error)
{
	struct setting *earlier = instance_find_setting(&layer->run, key);
	char *text = NULL;

	if (!earlier)
		return instance_add_setting(&layer->run, key, value, origin, error);
	int length = strcmp(key, "pid") == 0 ? asprintf(&text, "%s,%s", earlier->value, value)
					     : asprintf(&text, "%s", value);
	if (length < 0)
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
		return error_set(error, EINVAL, "--list and --check exclude each other");
	configuration->action = action;
	return 0;
}

/* "--diff BEFORE AFTER": getopt_long() knows options with one value only, and takes the next word for the command. */
static int take_difference(struct configuration_layer *layer, int argc, char **argv, struct error *error)
{
	if (optind >= argc || argv[optind][0] == '-')
		return error_set(error, EINVAL, "--diff needs two files: --diff BEFORE AFTER");
	int result = set_run_setting(layer, "before", optarg, "--diff", error);
	return result < 0 ? result : set_run_setting(layer, "after", argv[optind++], "--diff", error);
}

/* One option with its value in optarg. */
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

/* "--help=NAME", "--help NAME", or no name at all. */
static int take_help(struct configuration *configuration, char **argv, struct error *error)
{
	const char *plugin = optarg ? optarg : argv[optind];
	configuration->action = ACTION_HELP;
	if (!plugin || (!optarg && plugin[0] == '-'))
		return 0;
	return replace_text(&configuration->help_plugin, plugin, error);
}

int command_line_read(struct configuration *configuration, struct configuration_layer *layer, int argc, char **argv,
		      struct error *error)
{
	int value, result = 0, verbosity = 0;
	bool quiet = false;

	opterr = 0;
	optind = 0; /* glibc: begin anew, for a caller that reads several */
	while (result == 0 && (value = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		switch (value) {
		case ':':
			return error_set(error, EINVAL, "--%s needs a value", find_option(optopt)->name);
		case '?':
			return explain_option(argv[optind - 1], optopt, error);
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
	if (result == 0 && configuration->command && configuration->action == ACTION_LIST)
		return error_set(error, EINVAL, "--list takes no command");
	return result;
}
