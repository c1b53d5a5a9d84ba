/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --check: applies the configuration, probes every source, and lists what a complete profile and each sink requires.
 * Starts nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "base/log.h"
#include "config/wrapped_text.h"
#include "text/printable.h"
#include "run/command.h"
#include "run/run.h"
#include "run/setup.h"

#define RESET "\033[0m"
#define BOLD "\033[1m"
/* Column of the name of an item: "  limited  name: text". */
#define STATE_WIDTH 9

struct checking {
	struct instance_services services;
	struct setup setup;
	FILE *items;         /* lines of the instance that is being checked, printed below it */
	bool missing;        /* one of them is IAPROF_CHECK_MISSING */
	size_t able, unable; /* sources that can profile here, and sources that cannot; without companions */
	bool sink_is_unable; /* a sink cannot run here */
	size_t width;        /* of lines; 0: they are not wrapped, for programs that read them */
	bool has_colours;
};

/* Escape sequences of a terminal, "" for other outputs. */
static const char *colour(const struct checking *checking, const char *sequence)
{
	return checking->has_colours ? sequence : "";
}

/* Writes a line below an instance; word: a state, "" for the cause of a failure. */
static void write_item(const struct checking *checking, const char *begin, const char *word, char *text, FILE *file)
{
	text_make_printable(text);
	fprintf(file, "  %s%-*s%s", begin, *word ? STATE_WIDTH : 0, word, *begin ? colour(checking, RESET) : "");
	size_t column = 2 + (*word ? STATE_WIDTH : 0);
	wrapped_text_write(text, column, column, checking->width, file);
}

static void take_item(void *context, uint32_t state, const char *name, const char *text)
{
	static const char *const words[] = { "good", "limited", "missing" };
	static const char *const colours[] = { "\033[32m", "\033[33m", "\033[31m" };
	struct checking *checking = context;
	if (!checking->items || state > IAPROF_CHECK_MISSING)
		return;
	checking->missing |= state == IAPROF_CHECK_MISSING;
	CLEANUP_FREE char *line = format_new("%s: %s", name, text);
	if (line)
		write_item(checking, colour(checking, colours[state]), words[state], line, checking->items);
}

/* Writes the cause for which an instance cannot run. */
static void print_failure(const struct checking *checking, const char *failure)
{
	CLEANUP_FREE char *text = strdup(failure);
	if (text && *text)
		write_item(checking, "", "", text, stdout);
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
	printf("%ssource %s%s%s%s: %s%s\n", colour(checking, BOLD), source->name, is_companion ? " (with " : "",
	       is_companion ? source->brought_by->name : "", is_companion ? ")" : "",
	       *failure            ? "cannot run here"
	       : checking->missing ? "cannot profile here"
				   : "ready",
	       colour(checking, RESET));
	print_failure(checking, failure);
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
	printf("%ssink %s: %s%s%s%s\n", colour(checking, BOLD), sink->name, is_unable ? "cannot run here" : "ready",
	       path ? ", writes " : "",
	       !path                      ? ""
	       : is_standard_output(path) ? "standard output"
					  : path,
	       colour(checking, RESET));
	print_failure(checking, failure);
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
		       setup->decoders.items.items[i]->decoder.plugin->operations.decoder.machine);
	bool nothing = result || !checking->able || (checking->unable && !setup->sources_by_probe);
	return nothing || checking->sink_is_unable ? EXIT_STATUS_NOTHING : EXIT_STATUS_COMPLETE;
}

/* Wraps and colours lines if standard output is a terminal (https://no-color.org). */
static void find_terminal(struct checking *checking)
{
	struct winsize size = { 0 };
	const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");
	if (!isatty(STDOUT_FILENO))
		return;
	checking->width = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : WRAPPED_TEXT_WIDTH;
	checking->has_colours = !(none && *none) && terminal && strcmp(terminal, "dumb") != 0;
}

enum exit_status run_check(const struct configuration *configuration, struct registry *registry)
{
	struct checking checking = { .services = { .ended = instance_ended, .check_item = take_item } };
	struct error error = { 0 };
	checking.services.context = &checking;
	find_terminal(&checking);
	enum exit_status status = check(&checking, configuration, registry, &error);
	/* The failure of a probe has already been printed with its source. */
	if (error.text[0] && (status == EXIT_STATUS_USAGE || !checking.setup.sources_probed))
		log_message(IAPROF_LOG_ERROR, "%s", error.text);
	setup_release(&checking.setup);
	return status;
}
