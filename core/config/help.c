/* SPDX-License-Identifier: Apache-2.0 */
/* The help texts: see help.h. */
#include "config/help.h"

#include <inttypes.h>
#include <stdbool.h>

#include "config/option_table.h"

static const char usage[] = "Usage: iaprof [OPTION...] [--] [COMMAND [ARGUMENT...]]\n"
			    "\n"
			    "Profiles this machine until COMMAND ends, TIME is over, or Ctrl-C: which code\n"
			    "uses the CPUs, which code on a device waits for what, and which CPU code asked\n"
			    "for it. Needs root, or the capabilities that --check names.\n"
			    "\n"
			    "What is profiled:\n"
			    "  -p, --pid PID[,PID...]      only these processes; may be given several times\n"
			    "      --scope system|command  the whole machine (the default), or only COMMAND\n"
			    "                              and what it starts\n"
			    "  -d, --duration TIME         ends after this time\n"
			    "  -s, --source NAME[:KEY=VALUE[,KEY=VALUE]...]\n"
			    "                              collects with this source; may be given several\n"
			    "                              times. Default: every source that can run here\n"
			    "      --hold TIME             how long samples of a device wait for their\n"
			    "                              code and launches; default: 2s\n"
			    "      --finish-within TIME    longest time from the last sample to the end of\n"
			    "                              the run (100ms-1h, default 2s)\n"
			    "      --eu-stall-subsample N  takes one of N EU stall samples: subsample=N of\n"
			    "                              each source that has it. Default: all of them\n"
			    "\n"
			    "What is written:\n"
			    "  -k, --sink NAME[:KEY=VALUE[,KEY=VALUE]...]\n"
			    "                              writes with this sink; may be given several times.\n"
			    "                              Default: folded stacks; of a replay, and for a\n"
			    "                              FILE that ends in .html, a page for the browser\n"
			    "  -o, --output FILE           the file of the only sink; - is standard output\n"
			    "  -i, --interval TIME         one profile for each interval, for sinks that can;\n"
			    "                              default: one of the whole run\n"
			    "\n"
			    "Captures:\n"
			    "      --record FILE[,KEY=VALUE]...\n"
			    "                              keeps every record of the run in FILE; the keys\n"
			    "                              are those of sink capture, such as sources=yes\n"
			    "      --replay FILE           takes what a capture or other tools' text has\n"
			    "      --diff BEFORE AFTER     what became more and less between two such files\n"
			    "      --normalize none|total|duration\n"
			    "                              scales BEFORE to the total, or the duration, of\n"
			    "                              AFTER; default: none\n"
			    "\n"
			    "Configuration:\n"
			    "      --decoder NAME:KEY=VALUE[,KEY=VALUE]...\n"
			    "                              sets keys of a decoder of device instructions;\n"
			    "                              each is used by itself for the code it is for\n"
			    "  -c, --config FILE           reads an INI file; options override what it says\n"
			    "      --check                 says what is wrong or missing, and runs nothing\n"
			    "\n"
			    "Messages:\n"
			    "      --list                  lists the plugins\n"
			    "  -h, --help [PLUGIN]         shows this, or a plugin and its keys\n"
			    "      --version               shows the version\n"
			    "  -v, --verbose               says more; -vv says all\n"
			    "  -q, --quiet                 says nothing but errors\n"
			    "\n"
			    "A TIME is a number with ns, us, ms, s, m or h, such as 500ms; without one it is\n"
			    "in seconds, that of --interval in milliseconds. A comma in a VALUE is written\n"
			    "\\, and NAME.ID is a second instance of plugin NAME.\n"
			    "\n"
			    "Examples:\n"
			    "  iaprof sleep 30 > profile.folded       the whole machine for 30 seconds\n"
			    "  iaprof --scope command -- make -j8     only make and what it starts\n"
			    "  iaprof -d 10s -s cpu-stack:frequency=999 -k csv:rows=events\n"
			    "  iaprof --help cpu-stack                the keys of a plugin\n"
			    "\n"
			    "Exit status: 0 a complete profile, 1 something failed while it ran, 2 wrong\n"
			    "usage or configuration, 3 nothing to profile here.\n";

/* Every sink that writes a file has this key; the core opens the file, so the plugin's table does not name it. */
static const struct iaprof_option output_option = {
	.name = "output",
	.type = IAPROF_OPTION_STRING,
	.default_value = "-",
	.help = "The file to write; - is standard output",
};
static const struct option_table output_table = { &output_option, 1, sizeof output_option };

void help_write(FILE *file)
{
	fputs(usage, file);
}

static void write_usage(const struct iaprof_plugin *plugin, const char *kind, FILE *file)
{
	fprintf(file,
		"Usage: iaprof --%s %s[:KEY=VALUE[,KEY=VALUE]...]\n"
		"   or, in a file for iaprof --config:\n"
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

	fprintf(file, "%s%s%s (%s): %s\n\n", plugin->name, plugin->version ? " " : "",
		plugin->version ? plugin->version : "", kind, plugin->description);
	if (plugin->kind == IAPROF_PLUGIN_DECODER)
		fprintf(file, "Used by itself for device code of ELF machine %" PRIu32 ".\n\n", plugin->machine);
	for (size_t i = 0; plugin->companions && plugin->companions[i]; i++)
		fprintf(file, "Brings in the source %s, unless it is there or told not to be.\n%s",
			plugin->companions[i], plugin->companions[i + 1] ? "" : "\n");
	write_usage(plugin, kind, file);
	if (table.count == 0 && !has_output) {
		fputs("\nThere are no keys.\n", file);
		return;
	}
	fputs("\nKeys:\n", file);
	if (has_output)
		option_table_describe(&output_table, file);
	option_table_describe(&table, file);
}
