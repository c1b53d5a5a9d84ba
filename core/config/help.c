/* SPDX-License-Identifier: Apache-2.0 */
/* The help texts: see help.h. */
#include "config/help.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "config/run_options.h"
#include "text/printable.h"

static const char usage[] = "Usage: iaprof [OPTION...] [--] [COMMAND [ARGUMENT...]]\n"
			    "\n"
			    "Profiles CPUs, GPUs and NPUs until COMMAND exits, TIME elapses, or Ctrl-C. GPU\n"
			    "stalls are attributed to source lines and to the CPU code that launched the\n"
			    "kernel. Requires root, or the capabilities listed by --check.\n";

static const char notes[] = "\n"
			    "TIME is a number with ns, us, ms, s, m or h, such as 500ms. Without a unit it is\n"
			    "in seconds, for --interval in milliseconds. Write a comma in VALUE as \\, and a\n"
			    "second instance of a plugin as NAME.ID.\n"
			    "\n"
			    "Examples:\n"
			    "  iaprof sleep 30 > profile.folded       Whole system, 30 seconds\n"
			    "  iaprof --scope command -- make -j8     Only make and its descendants\n"
			    "  iaprof -d 10s -s cpu-stack:frequency=999 -k csv:rows=events\n"
			    "  iaprof --help cpu-stack                Keys of a plugin\n"
			    "\n"
			    "Exit status: 0 complete profile, 1 failure during the run, 2 usage or\n"
			    "configuration error, 3 nothing to profile on this machine, 128+N stopped by a\n"
			    "second signal N (130 for Ctrl-C).\n";

static const char *const headings[GROUP_COUNT] = {
	[GROUP_TARGET] = "Target",     [GROUP_OUTPUT] = "Output",
	[GROUP_CAPTURES] = "Captures", [GROUP_CONFIGURATION] = "Configuration",
	[GROUP_MESSAGES] = "Messages",
};

/* The key that every sink with a file has; the core opens the file. */
static const struct iaprof_option output_option = {
	.name = "output",
	.type = IAPROF_OPTION_STRING,
	.default_value = "-",
	.help = "Output file; - is standard output",
};
static const struct option_table output_table = { &output_option, 1, sizeof output_option };

void help_write(const struct help_alias *aliases, size_t count, FILE *file)
{
	fputs(usage, file);
	for (enum run_option_group group = 0; group < GROUP_COUNT; group++) {
		fprintf(file, "\n%s:\n", headings[group]);
		for (size_t i = 0; i < run_option_count; i++)
			if (run_options[i].group == group && run_options[i].text)
				run_option_describe(&run_options[i], file);
		for (size_t i = 0; group == GROUP_TARGET && i < count; i++)
			option_describe_alias(&aliases[i].option, aliases[i].plugin, file);
	}
	fputs(notes, file);
}

/* A replay has no process of its own. */
static void write_common_key(const struct iaprof_plugin *plugin, FILE *file)
{
	if (plugin->kind == IAPROF_PLUGIN_SOURCE && !(plugin->flags & IAPROF_PLUGIN_REPLAYS))
		fputs("\nEvery source also has the key isolate (yes|no), see iaprof(1).\n", file);
}

static void write_usage(const struct iaprof_plugin *plugin, const char *kind, FILE *file)
{
	fprintf(file,
		"Usage: iaprof --%s %s[:KEY=VALUE[,KEY=VALUE]...]\n"
		"   or, in an INI file for --config:\n"
		"       [%s:%s]\n"
		"       KEY = VALUE\n",
		kind, plugin->name, kind, plugin->name);
}

void help_write_plugin(const struct iaprof_plugin *plugin, FILE *file)
{
	static const char *const kinds[] = {
		[IAPROF_PLUGIN_SOURCE] = "source", [IAPROF_PLUGIN_SINK] = "sink", [IAPROF_PLUGIN_DECODER] = "decoder"
	};
	const struct option_table table = { plugin->options, plugin->option_count, plugin->option_size };
	const char *kind = kinds[plugin->kind];
	bool has_output = plugin->kind == IAPROF_PLUGIN_SINK && !(plugin->flags & IAPROF_PLUGIN_NO_OUTPUT);

	CLEANUP_FREE char *title = format_new("%s%s%s (%s): %s", plugin->name, plugin->version ? " " : "",
					      plugin->version ? plugin->version : "", kind, plugin->description);
	if (title)
		text_print_printable(title, INT_MAX, file);
	fputs("\n\n", file);
	if (plugin->kind == IAPROF_PLUGIN_DECODER)
		fprintf(file, "Selected automatically for device code of ELF machine %" PRIu32 ".\n\n",
			plugin->machine);
	for (size_t i = 0; plugin->companions && plugin->companions[i]; i++)
		fprintf(file, "Also runs source %s, unless disabled.\n%s", plugin->companions[i],
			plugin->companions[i + 1] ? "" : "\n");
	write_usage(plugin, kind, file);
	write_common_key(plugin, file);
	if (table.count == 0 && !has_output) {
		fputs("\nNo keys.\n", file);
		return;
	}
	fputs("\nKeys:\n", file);
	if (has_output)
		option_table_describe(&output_table, file);
	option_table_describe(&table, file);
}
