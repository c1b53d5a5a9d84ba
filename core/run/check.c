/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --check: applies the configuration, probes every source, and lists what a complete profile and each sink requires.
 * Starts nothing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "base/log.h"
#include "text/printable.h"
#include "run/command.h"
#include "run/run.h"
#include "run/setup.h"

struct checking {
	struct instance_services services;
	struct setup setup;
	FILE *items;         /* lines of the instance that is being checked, printed below it */
	bool missing;        /* one of them is IAPROF_CHECK_MISSING */
	size_t able, unable; /* sources that can profile here, and sources that cannot; without companions */
	bool sink_is_unable; /* a sink cannot run here */
};

static void take_item(void *context, uint32_t state, const char *name, const char *text)
{
	static const char *const words[] = { "good", "limited", "missing" };
	struct checking *checking = context;
	if (!checking->items || state > IAPROF_CHECK_MISSING)
		return;
	checking->missing |= state == IAPROF_CHECK_MISSING;
	CLEANUP_FREE char *line = format_new("%-8s %s: %s", words[state], name, text);
	if (!line)
		return;
	text_make_printable(line);
	fprintf(checking->items, "  %s\n", line);
}

/* Returns the lines of an instance, which the caller frees; NULL when out of memory. */
static char *collect_items(struct checking *checking, struct instance *instance)
{
	char *items = NULL;
	size_t size = 0;
	checking->missing = false;
	checking->items = open_memstream(&items, &size);
	instance_check(instance);
	if (checking->items)
		fclose(checking->items);
	checking->items = NULL;
	return items;
}

static void print_source(void *context, struct instance *source, const char *failure)
{
	struct checking *checking = context;
	CLEANUP_FREE char *items = collect_items(checking, source);
	if (instance_is_dead(source))
		failure = source->error.text;
	bool is_companion = source->brought_by != NULL;
	printf("source %s%s%s%s: %s\n", source->name, is_companion ? " (with " : "",
	       is_companion ? source->brought_by->name : "", is_companion ? ")" : "",
	       *failure            ? "cannot run here"
	       : checking->missing ? "cannot profile here"
				   : "ready");
	if (*failure)
		printf("  %s\n", failure);
	fputs(items ? items : "", stdout);
	if (!is_companion)
		*(*failure || checking->missing ? &checking->unable : &checking->able) += 1;
}

static void print_sink(struct checking *checking, struct instance *sink)
{
	CLEANUP_FREE char *items = collect_items(checking, sink);
	const char *path = sink->output.path, *failure = instance_is_dead(sink) ? sink->error.text : "";
	bool is_unable = *failure || checking->missing;
	checking->sink_is_unable |= is_unable;
	printf("sink %s: %s%s%s\n", sink->name, is_unable ? "cannot run here" : "ready", path ? ", writes " : "",
	       !path                      ? ""
	       : is_standard_output(path) ? "standard output"
					  : path);
	if (*failure)
		printf("  %s\n", failure);
	fputs(items ? items : "", stdout);
}

static void instance_ended(void *context, struct instance *instance)
{
}

static enum exit_status check(struct checking *checking, const struct configuration *configuration,
			      struct registry *registry, struct error *error)
{
	struct setup *setup = &checking->setup;
	if (setup_make(setup, configuration, registry, &checking->services, error) ||
	    (configuration->command && command_check(configuration->command, error)))
		return EXIT_STATUS_USAGE;
	int result = setup_probe(setup, &(struct setup_observer){ print_source, checking }, error);
	for (size_t i = 0; i < setup->sinks.count; i++)
		print_sink(checking, setup->sinks.items[i]);
	for (size_t i = 0; i < setup->decoders.items.count; i++)
		printf("decoder %s: ready, ELF machine %u\n", setup->decoders.items.items[i]->decoder.name,
		       setup->decoders.items.items[i]->decoder.plugin->description.machine);
	bool nothing = result || !checking->able || (checking->unable && !setup->sources_by_probe);
	return nothing || checking->sink_is_unable ? EXIT_STATUS_NOTHING : EXIT_STATUS_COMPLETE;
}

enum exit_status run_check(const struct configuration *configuration, struct registry *registry)
{
	struct checking checking = { .services = { .ended = instance_ended, .check_item = take_item } };
	struct error error = { 0 };
	checking.services.context = &checking;
	enum exit_status status = check(&checking, configuration, registry, &error);
	/* The failure of a probe has already been printed with its source. */
	if (error.text[0] && (status == EXIT_STATUS_USAGE || !checking.setup.sources_probed))
		log_message(IAPROF_LOG_ERROR, "%s", error.text);
	setup_release(&checking.setup);
	return status;
}
