/* SPDX-License-Identifier: Apache-2.0 */
/* The help texts: see help.h. */
#include "config/help.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "config/build_paths.h"
#include "config/run_options.h"
#include "config/wrapped_text.h"
#include "text/printable.h"

/* Column of the descriptions of --list. */
#define LIST_COLUMN 18u

static const char usage[] = "Usage: iaprof [OPTION...] [--] [COMMAND [ARGUMENT...]]\n"
			    "\n"
			    "Profiles COMMAND and its descendants, or the whole system: CPUs, GPUs and NPUs.\n"
			    "Requires root, or the capabilities that --check lists.\n";

/* One screen: 24 lines of 80 columns. */
static const char common[] = "\n"
			     "  iaprof -o page.html make -j8              A command, as a page for a browser\n"
			     "  iaprof -o page.html -p 1234 -d 10         A running process, for 10 s\n"
			     "  iaprof -o page.html -d 10                 The whole system, for 10 s\n"
			     "  iaprof -o page.html -s off-cpu ./program  What a program waits for\n"
			     "  iaprof -k top                             Live view on the terminal\n"
			     "\n"
			     "  -o FILE              Output by extension: .html .svg .json .csv .folded\n"
			     "                       .iaprof .pb.gz .speedscope.json .pftrace ...\n"
			     "  -s SOURCE            What to collect; default: all that can run here\n"
			     "  -p PID, -d TIME      A process and its descendants; stop after TIME\n"
			     "  --scope system       The whole system while COMMAND runs; sleep implies it\n"
			     "  --replay FILE        Read a capture (-o FILE.iaprof) or another profile\n"
			     "  --diff BEFORE AFTER  What got slower and what got faster\n"
			     "  --check, --list      What is missing on this machine; the sources and sinks\n"
			     "  --help all           All options; --help NAME: keys of a source or sink\n";

static const char notes[] = "\n"
			    "TIME is a number with ns, us, ms, s, m or h, such as 500ms. Without a unit it is\n"
			    "in seconds. Write a comma in VALUE as \\, and a second instance of a plugin as\n"
			    "NAME.ID.\n"
			    "\n"
			    "Examples:\n"
			    "  iaprof -o build.html make -j8          Only make and its descendants\n"
			    "  iaprof sleep 30 > profile.folded       Whole system, 30 seconds\n"
			    "  iaprof -d 10s -s cpu-stack:frequency=999 -k csv:rows=events\n"
			    "  iaprof --help cpu-stack                Keys of a plugin\n"
			    "\n"
			    "Exit status: that of COMMAND, 128+N if signal N killed it or ended the run, 125\n"
			    "failure of iaprof, 126 COMMAND cannot be executed, 127 not found. Without\n"
			    "COMMAND, and with sleep: 0 complete profile, 1 failure during the run, 2 usage\n"
			    "or configuration error, 3 nothing to profile on this machine, 128+N stopped by a\n"
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

void help_write_common(FILE *file)
{
	fputs(usage, file);
	fputs(common, file);
}

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
		fputs("\nEvery source also has the keys isolate and optional (yes|no), see iaprof(1).\n", file);
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

void help_write_plugin(const struct iaprof_plugin *plugin, const char *const *companions, uint32_t machine, FILE *file)
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
		fprintf(file, "Selected automatically for device code of ELF machine %" PRIu32 ".\n\n", machine);
	for (size_t i = 0; companions && companions[i]; i++)
		fprintf(file, "Also runs source %s, unless disabled.\n%s", companions[i],
			companions[i + 1] ? "" : "\n");
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

void help_write_list_heading(uint32_t kind, FILE *file)
{
	static const char *const texts[] = { [IAPROF_PLUGIN_SOURCE] = "Sources, for --source:",
					     [IAPROF_PLUGIN_SINK] = "Sinks, for --sink:",
					     [IAPROF_PLUGIN_DECODER] = "Decoders, selected automatically:" };
	fprintf(file, "%s%s\n", kind == IAPROF_PLUGIN_SOURCE ? "" : "\n", texts[kind]);
}

void help_write_list_item(const struct iaprof_plugin *plugin, FILE *file)
{
	bool is_own = !plugin->version || !strcmp(plugin->version, IAPROF_VERSION);
	CLEANUP_FREE char *name = format_new("  %s", plugin->name);
	CLEANUP_FREE char *text =
		format_new("%s%s%s%s", plugin->description ? plugin->description : "", is_own ? "" : " (version ",
			   is_own ? "" : plugin->version, is_own ? "" : ")");
	if (!name || !text)
		return;
	text_make_printable(name);
	text_make_printable(text);
	fputs(name, file);
	/* At least two blanks follow a name. */
	size_t length = strlen(name), column = length + 2 > LIST_COLUMN ? length + 2 : LIST_COLUMN;
	wrapped_text_write(text, column, length, WRAPPED_TEXT_WIDTH, file);
}
