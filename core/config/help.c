/* SPDX-License-Identifier: Apache-2.0 */
/* The help texts: see help.h. */
#include "config/help.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "config/option_table.h"
#include "text/printable.h"

static const char usage[] = "Usage: iaprof [OPTION...] [--] [COMMAND [ARGUMENT...]]\n"
			    "\n"
			    "Profiles CPUs, GPUs and NPUs until COMMAND exits, TIME elapses, or Ctrl-C. GPU\n"
			    "stalls are attributed to source lines and to the CPU code that launched the\n"
			    "kernel. Requires root, or the capabilities listed by --check.\n"
			    "\n"
			    "Target:\n"
			    "  -p, --pid PID[,PID...]      Profile only these processes and their\n"
			    "                              descendants, until all have exited. May be\n"
			    "                              repeated\n"
			    "      --children yes|no       Include the descendants (default yes)\n"
			    "      --cgroup PATH           Profile only the processes in a cgroup and in\n"
			    "                              those below it\n"
			    "      --container ID          Profile only a container of Docker, Podman,\n"
			    "                              containerd or systemd-nspawn, by id or name, or\n"
			    "                              a unique prefix of it\n"
			    "      --scope system|command  Profile the whole system (default), or only\n"
			    "                              COMMAND and its descendants\n"
			    "  -d, --duration TIME         Stop after TIME (1ms-8760h)\n"
			    "  -s, --source NAME[:KEY=VALUE[,KEY=VALUE]...]\n"
			    "                              Collect with this source. May be repeated.\n"
			    "                              Default: every source that can run here. Key\n"
			    "                              isolate=yes|no: in a process of its own\n"
			    "                              (default yes, no for installed plugins)\n"
			    "      --hold TIME             Longest time that device samples wait for their\n"
			    "                              code and launch (1ms-20s, default 2s)\n"
			    "      --finish-within TIME    Longest time to read symbols after the last\n"
			    "                              sample, and for sinks without progress, or in\n"
			    "                              an interrupted run (100ms-1h, default 2s)\n";

static const char usage_of_outputs[] =
	"\n"
	"Output:\n"
	"  -k, --sink NAME[:KEY=VALUE[,KEY=VALUE]...]\n"
	"                              Write with this sink. May be repeated. Default:\n"
	"                              folded stacks; an HTML page for *.html files, and\n"
	"                              for --replay on a terminal\n"
	"  -o, --output FILE           Output file, for runs with one sink (- is standard\n"
	"                              output)\n"
	"  -i, --interval TIME         Write one profile per interval, with sinks that\n"
	"                              support it (1ms-8760h). Default: the whole run\n"
	"      --continuous            Run until stopped, in intervals (default 60s) and\n"
	"                              with bounded memory. Default sink: ring\n"
	"      --memory SIZE           Memory above which a continuous run is\n"
	"                              restarted (default 384MiB)\n"
	"      --budget PERCENT%       Share of the CPU time of all CPUs that a\n"
	"                              continuous run may use, held by sampling less\n"
	"                              (0.001%-100%, or none; default 1%)\n"
	"\n"
	"Captures:\n"
	"      --record FILE[,KEY=VALUE]...\n"
	"                              Raw capture of the run, for --replay. Keys are\n"
	"                              those of sink capture, such as sources=yes\n"
	"      --replay FILE           Read a capture, folded stacks or output of perf\n"
	"                              script instead of profiling this machine (- is\n"
	"                              standard input)\n"
	"      --diff BEFORE AFTER     What got slower and what got faster between two\n"
	"                              files that --replay can read\n"
	"      --normalize none|total|duration\n"
	"                              Scale BEFORE to the total or duration of AFTER\n"
	"                              (default none)\n"
	"\n"
	"Configuration:\n"
	"      --decoder NAME:KEY=VALUE[,KEY=VALUE]...\n"
	"                              Set keys of a device instruction decoder. Decoders\n"
	"                              are selected automatically\n"
	"      --debuginfod URL        Fetch debug files of CPU code from this server,\n"
	"                              which learns the build ids. Default: never\n"
	"  -c, --config FILE           Read an INI file. Command-line options override it\n"
	"      --plugin-path DIR       Search DIR for plugins before the installed ones.\n"
	"                              May be repeated. -s ./iaprof-NAME.so is one file\n"
	"      --new-plugin source|sink|decoder NAME\n"
	"                              Write the folder iaprof-NAME with a plugin to\n"
	"                              start from, its build file and its test\n"
	"      --check                 Report what is missing for a complete profile, and\n"
	"                              exit\n"
	"\n"
	"Messages:\n"
	"      --list                  List the plugins\n"
	"  -h, --help [PLUGIN]         Show this help, or a plugin and its keys\n"
	"      --version               Show the version\n"
	"  -v, --verbose               Verbose messages; repeat for debug output\n"
	"  -q, --quiet                 Print errors only\n"
	"\n"
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
	for (size_t i = 0; i < count; i++)
		option_describe_alias(&aliases[i].option, aliases[i].plugin, file);
	fputs(usage_of_outputs, file);
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
