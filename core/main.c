/* SPDX-License-Identifier: Apache-2.0 */
/* iaprof: reads the command line and does what it asks for. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "config/configuration.h"
#include "config/help.h"
#include "plugin/build_paths.h"
#include "plugin/plugin_call.h"
#include "plugin/registry.h"
#include "run/run.h"

static enum exit_status list(struct registry *registry)
{
	enum exit_status status = EXIT_STATUS_COMPLETE;
	for (size_t i = 0; i < registry->entries.count; i++) {
		struct error error = { 0 };
		const struct plugin *plugin = registry_load_entry(&registry->entries.items[i], &error);
		if (!plugin) {
			log_message(IAPROF_LOG_ERROR, "%s", error.text);
			status = EXIT_STATUS_FAILED;
			continue;
		}
		const struct iaprof_plugin *description = &plugin->description;
		printf("%-8s %-16s %-8s %s\n", plugin_kind_name(description->kind), description->name,
		       description->version ? description->version : "-", description->description);
	}
	return status;
}

static enum exit_status help(const char *name, struct registry *registry)
{
	struct error error = { 0 };
	if (!name) {
		help_write(stdout);
		return EXIT_STATUS_COMPLETE;
	}
	const struct plugin *plugin = registry_get(registry, name, REGISTRY_ANY_KIND, &error);
	if (!plugin) {
		log_message(IAPROF_LOG_ERROR, "--help: %s", error.text);
		return EXIT_STATUS_USAGE;
	}
	help_write_plugin(&plugin->description, stdout);
	return EXIT_STATUS_COMPLETE;
}

static enum exit_status act(const struct configuration *configuration, struct registry *registry)
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
		return run(configuration, registry);
	}
}

/*
 * A standard stream that is closed would be the next file that is opened, and what is meant for the stream would go
 * there. /dev/null in its place is opened the wrong way round, so that its use fails as that of the closed one.
 */
static void hold_standard_streams(void)
{
	for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
		if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			_exit(EXIT_STATUS_FAILED);
}

/*
 * Replace the C library's for plugins, too, as the dynamic linker looks into the program first. A system call of a
 * plugin's own remains unseen.
 */
#if !PLUGIN_CALL_HAS_SANITIZER
__attribute__((visibility("default"))) void _exit(int status)
{
	plugin_call_exit(status);
}

__attribute__((visibility("default"))) void _Exit(int status)
{
	plugin_call_exit(status);
}
#endif

int main(int argc, char **argv)
{
	hold_standard_streams();
	plugin_call_watch();
	struct configuration configuration = { 0 };
	struct registry registry = { 0 };
	struct error error = { 0 };
	enum exit_status status = EXIT_STATUS_USAGE;
	if (configuration_read(&configuration, argc, argv, &error)) {
		log_message(IAPROF_LOG_ERROR, "%s", error.text);
	} else {
		log_set_level(IAPROF_LOG_WARNING + configuration.verbosity);
		if (registry_scan(&registry, &error))
			log_message(IAPROF_LOG_ERROR, "%s", error.text);
		else
			status = act(&configuration, &registry);
	}
	/* What was printed must have arrived: a full disk or a closed pipe is a failure like any other. */
	if ((fflush(stdout) || ferror(stdout)) && status == EXIT_STATUS_COMPLETE) {
		log_message(IAPROF_LOG_ERROR, "write standard output: %m");
		status = EXIT_STATUS_FAILED;
	}
	registry_free(&registry);
	configuration_free(&configuration);
	plugin_call_unwatch();
	return (int)status;
}
