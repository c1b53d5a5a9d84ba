/* SPDX-License-Identifier: Apache-2.0 */
/* The program iaprof: reads the command line and runs the requested action. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "base/log.h"
#include "base/machine.h"
#include "config/configuration.h"
#include "config/help.h"
#include "config/build_paths.h"
#include "engine.h"
#include "child/helper.h"
#include "plugin/option_aliases.h"
#include "plugin/plugin_call.h"
#include "plugin/plugin_description.h"
#include "plugin/registry.h"
#include "run/isolation/isolated_process.h"
#include "run/output/output.h"
#include "run/output/screen.h"
#include "run/run.h"
#include "run/status_file.h"
#include "text/printable.h"

static void list_kind(struct registry *registry, uint32_t kind)
{
	bool has_heading = false;
	for (size_t i = 0; i < registry_count(registry); i++) {
		const struct plugin *plugin = registry_load(registry, i, &(struct error){ 0 });
		if (!plugin || plugin->description.kind != kind)
			continue;
		if (!has_heading)
			help_write_list_heading(kind, stdout);
		has_heading = true;
		help_write_list_item(&plugin->description, stdout);
	}
}

static enum exit_status list(struct registry *registry)
{
	enum exit_status status = EXIT_STATUS_COMPLETE;
	for (size_t i = 0; i < registry_count(registry); i++) {
		struct error error = { 0 };
		if (registry_load(registry, i, &error))
			continue;
		log_message(IAPROF_LOG_ERROR, "%s", error.text);
		status = EXIT_STATUS_FAILED;
	}
	list_kind(registry, IAPROF_PLUGIN_SOURCE);
	list_kind(registry, IAPROF_PLUGIN_SINK);
	list_kind(registry, IAPROF_PLUGIN_DECODER);
	return status;
}

static enum exit_status help(const char *name, struct registry *registry)
{
	struct error error = { 0 };
	if (!name) {
		help_write_common(stdout);
		return EXIT_STATUS_COMPLETE;
	}
	if (!strcmp(name, "all")) {
		CLEANUP(plugin_aliases_free) struct plugin_aliases aliases = { .registry = registry };
		(void)plugin_aliases_load(&aliases); /* aliases are omitted when out of memory */
		help_write(aliases.items.items, aliases.items.count, stdout);
		return EXIT_STATUS_COMPLETE;
	}
	const struct plugin *plugin = registry_get(registry, name, REGISTRY_ANY_KIND, &error);
	if (!plugin) {
		log_message(IAPROF_LOG_ERROR, "--help: %s", error.text);
		return EXIT_STATUS_USAGE;
	}
	help_write_plugin(&plugin->description, plugin->operations.companions, plugin->operations.decoder.machine,
			  stdout);
	return EXIT_STATUS_COMPLETE;
}

/* What the configuration is read from. */
struct origin {
	int argc;
	char **argv;
	struct plugin_aliases aliases;
};

static int read_configuration(void *context, struct configuration *configuration, struct error *error)
{
	struct origin *origin = context;
	return configuration_read(configuration, origin->argc, origin->argv,
				  &(struct option_aliases){ .list = plugin_aliases_list,
							    .add_folders = plugin_aliases_add_folders,
							    .context = &origin->aliases },
				  error);
}

static enum exit_status act(const struct configuration *configuration, struct registry *registry, struct origin *origin,
			    struct command_result *command)
{
	switch (configuration->action) {
	case ACTION_VERSION:
		printf("iaprof %s\n", IAPROF_VERSION);
		return EXIT_STATUS_COMPLETE;
	case ACTION_LIST:
		return list(registry);
	case ACTION_HELP:
		return help(configuration->help_plugin, registry);
	case ACTION_CHECK:
		return run_check(configuration, registry);
	default:
		return run(configuration,
			   &(struct run_parts){ .registry = registry,
						.engine = &engine_functions,
						.read = read_configuration,
						.context = origin },
			   command);
	}
}

/* Called before the process is forced to end. Async-signal-safe. */
static void clean_up(void)
{
	screen_restore_at_once();
	output_remove_temporary_files();
}

/*
 * Fills closed standard streams, so that no other file gets their descriptors. /dev/null is opened in the wrong
 * direction, so that using the stream still fails.
 */
static void hold_standard_streams(void)
{
	for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
		if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			_exit(EXIT_STATUS_FAILED);
}

/* An example is not where the user is, and a file in the current folder may hide one. */
static void report_config_file(const struct configuration *configuration)
{
	if (configuration->config_was_found && strchr(configuration->config_path, '/'))
		log_notice("configuration: %s", configuration->config_path);
	else if (configuration->config_was_found)
		log_message(IAPROF_LOG_INFO, "configuration: ./%s", configuration->config_path);
}

/*
 * Lets large blocks return to the Linux kernel as soon as they are freed. By default, the first freed one raises
 * glibc's thresholds to its size, and each thread has a heap of its own: freed tables of files stayed there, 25 MiB of
 * them.
 */
static void return_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_TRIM_THRESHOLD, 128 << 10);
	mallopt(M_ARENA_MAX, 1);
}

/*
 * Becomes the program for --self-test, which has options of its own. Its arguments: this program, the program that it
 * runs on the device, and the options. Returns if it is not installed.
 */
static void self_test(int argc, char **argv)
{
	CLEANUP_FREE char *folder = program_folder();
	CLEANUP_FREE char *program = helper_path("iaprof-self-test");
	CLEANUP_FREE char *device_program = helper_path("iaprof-self-test-gpu");
	CLEANUP_FREE char *own = folder ? format_new("%s/iaprof", folder) : NULL;
	CLEANUP_FREE char **arguments = calloc((size_t)argc + 2, sizeof *arguments);
	if (own && program && device_program && arguments) {
		arguments[0] = program;
		arguments[1] = own;
		arguments[2] = device_program;
		memcpy(arguments + 3, argv + 2, (size_t)(argc - 2) * sizeof *arguments);
		execv(program, arguments);
	}
	log_message(IAPROF_LOG_ERROR, "--self-test: %s",
		    program && device_program ? strerror(errno) : "not installed with this iaprof");
}

/* Returns whether the exit status is that of the command. */
static bool has_command(const struct configuration *configuration)
{
	return configuration->action == ACTION_RUN && configuration->command && !configuration->is_timer;
}

/* Returns the exit status of the process. */
static int exit_status_of(const struct configuration *configuration, enum exit_status status,
			  const struct command_result *command)
{
	if (!has_command(configuration))
		return (int)status;
	bool is_own = status == EXIT_STATUS_COMPLETE || command->was_not_executed;
	return is_own ? command->status : EXIT_STATUS_OWN_FAILURE;
}

static enum exit_status write_status(const char *path, enum exit_status status)
{
	struct error error = { 0 };
	if (!path || !status_file_write(path, status, &error))
		return status;
	/* If the run did not start because of this file, that was reported. */
	if (status != EXIT_STATUS_USAGE)
		log_message(IAPROF_LOG_ERROR, "%s", error.text);
	return status == EXIT_STATUS_COMPLETE ? EXIT_STATUS_FAILED : status;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--self-test")) {
		self_test(argc, argv);
		return EXIT_STATUS_FAILED;
	}
	return_memory();
	hold_standard_streams();
	if (argc == 2 && !strcmp(argv[0], PLUGIN_DESCRIPTION_PROGRAM))
		plugin_description_main(argv[1]);
	if (argc == 2 && !strcmp(argv[0], ISOLATED_PROCESS_PROGRAM))
		isolated_process_main(argv[1]);
	plugin_call_watch(clean_up);
	struct configuration configuration = { 0 };
	struct registry registry = { .reads_apart = true };
	struct origin origin = { .argc = argc, .argv = argv, .aliases.registry = &registry };
	struct error error = { 0 };
	enum exit_status status = EXIT_STATUS_USAGE;
	struct command_result command = { 0 };
	if (registry_scan(&registry, &error) || read_configuration(&origin, &configuration, &error)) {
		log_message(IAPROF_LOG_ERROR, "%s", error.text);
	} else {
		log_set_level(IAPROF_LOG_WARNING + configuration.verbosity);
		report_config_file(&configuration);
		if (has_command(&configuration))
			plugin_call_set_failure_status(EXIT_STATUS_OWN_FAILURE);
		status = act(&configuration, &registry, &origin, &command);
	}
	plugin_aliases_free(&origin.aliases);
	/* A full disk or a closed pipe is a failure. */
	if ((fflush(stdout) || ferror(stdout)) && status == EXIT_STATUS_COMPLETE) {
		log_message(IAPROF_LOG_ERROR, "cannot write to standard output: %m");
		status = EXIT_STATUS_FAILED;
	}
	if (configuration.action == ACTION_RUN)
		status = write_status(configuration.status_file, status);
	int exit_status = exit_status_of(&configuration, status, &command);
	registry_free(&registry);
	configuration_free(&configuration);
	plugin_call_unwatch();
	return exit_status;
}
