/* SPDX-License-Identifier: Apache-2.0 */
/* See output_format.h. */
#include "config/output_format.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/instance_configuration.h"
#include "config/value.h"

/* The first one with an extension is its default; a sink may also write to those of its other rows. */
static const struct output_format formats[] = {
	{ "html", "flamegraph", "html", "flamegraph" },
	{ "svg", "flamegraph", "svg", "flamegraph:format=svg" },
	{ "json", "summary", "json", "summary:format=json" },
	{ "json", "speedscope", NULL, "speedscope" },
	{ "speedscope.json", "speedscope", NULL, "speedscope" },
	{ "firefox.json.gz", "firefox", NULL, "firefox" },
	{ "pb.gz", "pprof", NULL, "pprof" },
	{ "folded", "folded", NULL, "folded" },
	{ "csv", "csv", NULL, "csv" },
	{ "pftrace", "perfetto", NULL, "perfetto" },
	{ "perfetto-trace", "perfetto", NULL, "perfetto" },
	{ "iaprof", "capture", NULL, "capture" },
};
#define FORMAT_COUNT (sizeof formats / sizeof *formats)

/* Sinks whose files have no extension of their own. */
static const char *const text_sinks[] = { "iaprof", "top" };

static bool has_extension(const char *path, const char *extension)
{
	size_t length = strlen(path), end = strlen(extension);
	return length > end + 1 && path[length - end - 1] == '.' && !strcmp(path + length - end, extension);
}

const struct output_format *output_format_find(const char *path)
{
	const struct output_format *found = NULL;
	for (size_t i = 0; i < FORMAT_COUNT; i++)
		if (has_extension(path, formats[i].extension) &&
		    (!found || strlen(formats[i].extension) > strlen(found->extension)))
			found = &formats[i];
	return found;
}

const struct output_format *output_format_of_extension(const char *extension)
{
	for (size_t i = 0; i < FORMAT_COUNT; i++)
		if (!strcmp(formats[i].extension, extension))
			return &formats[i];
	return NULL;
}

/* Returns whether a sink is one of those whose formats are known; others may write anything. */
static bool is_known(const char *sink)
{
	for (size_t i = 0; i < FORMAT_COUNT; i++)
		if (!strcmp(formats[i].sink, sink))
			return true;
	for (size_t i = 0; i < sizeof text_sinks / sizeof *text_sinks; i++)
		if (!strcmp(text_sinks[i], sink))
			return true;
	return false;
}

/* Returns the format that a sink writes to files with an extension; NULL: none. */
static const struct output_format *find_of_sink(const char *extension, const char *sink)
{
	for (size_t i = 0; i < FORMAT_COUNT; i++)
		if (!strcmp(formats[i].extension, extension) && !strcmp(formats[i].sink, sink))
			return &formats[i];
	return NULL;
}

/* Returns the effective value of a key, which is the last one; NULL: not set. */
static const char *last_value(const struct instance_configuration *sink, const char *key)
{
	for (size_t i = sink->settings.count; i > 0; i--)
		if (!strcmp(sink->settings.items[i - 1].key, key))
			return sink->settings.items[i - 1].value;
	return NULL;
}

/* Checks that a sink writes what a file name states, and sets its format if it has several. */
static int apply_name(struct instance_configuration *sink, const char *path, struct error *error)
{
	const struct output_format *named = output_format_find(path);
	if (!named || !is_known(sink->plugin))
		return 0;
	const struct output_format *own = find_of_sink(named->extension, sink->plugin);
	if (!own)
		return error_set(error, EINVAL, "sink %s does not write .%s files: %s (use -k %s, or another name)",
				 sink->plugin, named->extension, value_excerpt(path).text, named->usage);
	const char *format = own->format ? last_value(sink, "format") : NULL;
	if (format && strcmp(format, own->format) != 0)
		return error_set(error, EINVAL, "sink %s: format=%s does not write .%s files: %s (use another name)",
				 sink->plugin, value_excerpt(format).text, named->extension, value_excerpt(path).text);
	return format || !own->format ? 0 : instance_add_setting(sink, "format", own->format, "output", error);
}

/* Adds the sink that writes --output; none, if its name does not state a format. */
static int add_sink_of_output(struct configuration *configuration, struct error *error)
{
	const struct output_format *format = output_format_find(configuration->output);
	CLEANUP(instance_release) struct instance_configuration sink = { 0 };
	if (!format)
		return 0;
	int result = instance_set_name(&sink, format->sink, "--output", error);
	return result ? result : instance_list_add(&configuration->sinks, &sink, error);
}

int output_formats_apply(struct configuration *configuration, struct error *error)
{
	int result = 0;
	if (configuration->output && !configuration->sinks.count)
		result = add_sink_of_output(configuration, error);
	for (size_t i = 0; !result && i < configuration->sinks.count; i++) {
		struct instance_configuration *sink = &configuration->sinks.items[i];
		const char *own = last_value(sink, "output"), *path = own ? own : configuration->output;
		result = path ? apply_name(sink, path, error) : 0;
	}
	struct instance_configuration record = { .plugin = (char *)"capture" };
	if (!result && configuration->record_path && apply_name(&record, configuration->record_path, error))
		return error_wrap(error, "--record");
	return result;
}
