/* SPDX-License-Identifier: Apache-2.0 */
/* --check: the configuration is made and every source probed, nothing is started. */
#include <stdio.h>

#include "base/log.h"
#include "run/command.h"
#include "run/run.h"
#include "run/setup.h"

static void print_source(const struct instance *source, const char *failure)
{
	printf("source %s: %s\n", source->name, *failure ? "cannot run here" : "ready");
	if (*failure)
		printf("  %s\n", failure);
}

static void instance_ended(void *context, struct instance *instance)
{
	(void)context;
	(void)instance;
}

static enum exit_status check(const struct configuration *configuration, struct registry *registry,
			      struct instance_services *services, struct setup *setup, struct error *error)
{
	if (setup_make(setup, configuration, registry, services, error) ||
	    (configuration->command && command_check(configuration->command, error)))
		return EXIT_STATUS_USAGE;
	int result = setup_probe(setup, print_source, error);
	for (size_t i = 0; i < setup->sinks.count; i++) {
		const char *path = setup->sinks.items[i]->output.path;
		printf("sink %s: ready%s%s\n", setup->sinks.items[i]->name, path ? ", writes " : "",
		       !path                        ? ""
		       : path[0] == '-' && !path[1] ? "standard output"
						    : path);
	}
	return result ? EXIT_STATUS_NOTHING : EXIT_STATUS_COMPLETE;
}

enum exit_status run_check(const struct configuration *configuration, struct registry *registry)
{
	struct instance_services services = { .ended = instance_ended };
	struct setup setup = { 0 };
	struct error error = { 0 };
	enum exit_status status = check(configuration, registry, &services, &setup, &error);
	/* What a probe said has been printed with its source. */
	if (error.text[0] && (status == EXIT_STATUS_USAGE || !setup.sources_probed))
		log_message(IAPROF_LOG_ERROR, "%s", error.text);
	setup_release(&setup);
	return status;
}
