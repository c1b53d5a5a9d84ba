/* SPDX-License-Identifier: Apache-2.0 */
/* See run_options.h. */
#include "config/run_options.h"

#include "config/configuration.h"

/* Upper limit of durations, so that adding one to a time does not overflow. */
#define YEAR 31536000000000000ULL
#define MILLISECOND 1000000ULL

static const char *const scopes[] = { "auto", "system", "command", NULL };
static const char *const children_choices[] = { "yes", "no", NULL };
static const char *const normalizations[] = { "none", "total", "duration", NULL };

#define KEY(member, value_type, ...)                                                                                   \
	.key = { .type = IAPROF_OPTION_##value_type, .offset = offsetof(struct configuration, member), __VA_ARGS__ }

const struct run_option run_options[] = {
	{ "pid", "PID[,PID...]",
	  "Profile only these processes and their descendants, until all have exited. May be repeated.",
	  KEY(values.pids, STRING), .group = GROUP_TARGET, .letter = 'p', .action = OPTION_LISTS, .separator = ',' },
	{ "children", NULL, "Include the descendants.", KEY(values.children, CHOICE, .choices = children_choices),
	  .group = GROUP_TARGET },
	{ "cgroup", "PATH", "Profile only the processes in a cgroup and in those below it.", KEY(cgroup, STRING),
	  .group = GROUP_TARGET },
	{ "container", "ID",
	  "Profile only a container of Docker, Podman, containerd or systemd-nspawn, by id or name, or a unique "
	  "prefix of it.",
	  KEY(container, STRING), .group = GROUP_TARGET },
	{ "scope", NULL,
	  "Profile the whole system, or only COMMAND and its descendants. auto: COMMAND, if there is one other than "
	  "sleep.",
	  KEY(values.scope, CHOICE, .choices = scopes), .group = GROUP_TARGET },
	{ "duration", "TIME", "Stop after TIME.", KEY(duration, DURATION, .minimum = MILLISECOND, .maximum = YEAR),
	  .group = GROUP_TARGET, .letter = 'd' },
	{ "source", "NAME[:KEY=VALUE[,KEY=VALUE]...]",
	  "Collect with this source. May be repeated. Default: every source that can run here. Keys isolate=yes|no: in "
	  "a process of its own (default yes, no for plugins of iaprof); optional=yes: continue without it.",
	  .group = GROUP_TARGET, .letter = 's', .action = OPTION_SOURCE },
	/* Must be less than the 30 s for which device code can be looked up (correlator/device_code.c). */
	{ "hold", "TIME", "Longest time that device samples wait for their code and launch.",
	  KEY(hold, DURATION, .default_value = "2s", .minimum = MILLISECOND, .maximum = 20 * 1000 * MILLISECOND),
	  .group = GROUP_TARGET },
	{ "finish-within", "TIME",
	  "Longest time to read symbols after the last sample, and for sinks without progress, or in an interrupted "
	  "run.",
	  KEY(finish_within, DURATION, .default_value = "2s", .minimum = 100 * MILLISECOND,
	      .maximum = 3600 * 1000 * MILLISECOND),
	  .group = GROUP_TARGET },

	{ "sink", "NAME[:KEY=VALUE[,KEY=VALUE]...]",
	  "Write with this sink. May be repeated. Default: folded stacks; an HTML page for *.html files, and for "
	  "--replay on a terminal.",
	  .group = GROUP_OUTPUT, .letter = 'k', .action = OPTION_SINK },
	{ "output", "FILE", "Output file, for runs with one sink (- is standard output).", KEY(output, STRING),
	  .group = GROUP_OUTPUT, .letter = 'o' },
	{ "interval", "TIME",
	  "Write one profile per interval, with sinks that support it, instead of one of the whole run.",
	  KEY(interval, DURATION, .minimum = MILLISECOND, .maximum = YEAR), .group = GROUP_OUTPUT, .letter = 'i' },
	{ "continuous", NULL,
	  "Run until stopped, in intervals (60s, if none is set) and with bounded memory. Default sink: ring.",
	  KEY(continuous, BOOL), .group = GROUP_OUTPUT, .action = OPTION_ENABLES },
	{ "status-file", "FILE",
	  "Write the result of the profile to FILE: 0 complete, 1 failed, 2 usage error, 3 nothing to profile. With "
	  "COMMAND, the exit status is that of COMMAND.",
	  KEY(status_file, STRING), .group = GROUP_OUTPUT },
	/* Three quarters of what the unit of the service permits, which includes helper processes and buffers. */
	{ "memory", "SIZE", "Memory above which a continuous run is restarted.",
	  KEY(memory, SIZE, .default_value = "384MiB", .minimum = 1 << 20), .group = GROUP_OUTPUT },
	{ "budget", "PERCENT%|none",
	  "Share of the CPU time of all CPUs that a continuous run may use, held by sampling less. Range: 0.001% to "
	  "100%.",
	  KEY(values.budget, STRING, .default_value = "1%"), .group = GROUP_OUTPUT },

	{ "record", "FILE[,KEY=VALUE]...",
	  "Raw capture of the run, for --replay. Keys are those of sink capture, such as sources=yes.",
	  KEY(record_path, STRING), .group = GROUP_CAPTURES },
	{ "replay", "FILE",
	  "Read a capture, folded stacks or output of perf script instead of profiling this machine (- is standard "
	  "input).",
	  KEY(replay_path, STRING), .group = GROUP_CAPTURES },
	{ "diff", "BEFORE AFTER", "What got slower and what got faster between two files that --replay can read.",
	  .group = GROUP_CAPTURES, .action = OPTION_DIFF },
	{ "before", NULL, NULL, KEY(before_path, STRING) },
	{ "after", NULL, NULL, KEY(after_path, STRING) },
	{ "normalize", NULL, "Scale BEFORE to the total or duration of AFTER.",
	  KEY(normalization, CHOICE, .choices = normalizations), .group = GROUP_CAPTURES },

	{ "decoder", "NAME:KEY=VALUE[,KEY=VALUE]...",
	  "Set keys of a device instruction decoder. Decoders are selected automatically.",
	  .group = GROUP_CONFIGURATION, .action = OPTION_DECODER },
	{ "debuginfod", "URL",
	  "Fetch debug files of CPU code from this server, which reveals their build IDs to it. Default: never.",
	  KEY(debuginfod, STRING), .group = GROUP_CONFIGURATION },
	{ "rules", "FILE",
	  "Rules for what is code of libraries, and for classes of GPU kernels, after the installed ones (code.rules).",
	  KEY(rules, STRING), .group = GROUP_CONFIGURATION },
	{ "config", "FILE", "Read an INI file. Command-line options override it.", .group = GROUP_CONFIGURATION,
	  .letter = 'c', .action = OPTION_CONFIG },
	{ "plugin-path", "DIR",
	  "Search DIR for plugins before the installed ones. May be repeated. -s ./iaprof-NAME.so is one file.",
	  KEY(values.plugin_path, STRING), .group = GROUP_CONFIGURATION, .action = OPTION_LISTS, .separator = ':' },
	{ "check", NULL, "Report what is missing for a complete profile, and exit.", .group = GROUP_CONFIGURATION,
	  .action = OPTION_CHECK },
	{ "self-test", NULL,
	  "Check what iaprof assumes about the GPU, its driver and runtime, and exit. Must be the first option.",
	  .group = GROUP_CONFIGURATION, .action = OPTION_SELF_TEST },

	{ "list", NULL, "List the plugins.", .group = GROUP_MESSAGES, .action = OPTION_LIST },
	{ "help", "[all|PLUGIN]", "Show the commonest options, all of them, or a plugin and its keys.",
	  .group = GROUP_MESSAGES, .letter = 'h', .action = OPTION_HELP },
	{ "version", NULL, "Show the version.", .group = GROUP_MESSAGES, .action = OPTION_VERSION },
	{ "verbose", NULL, "Verbose messages; repeat for debug output.", KEY(values.verbose, UINT, .maximum = 2),
	  .group = GROUP_MESSAGES, .letter = 'v', .action = OPTION_COUNTS },
	{ "quiet", NULL, "Print errors only.", KEY(values.quiet, BOOL), .group = GROUP_MESSAGES, .letter = 'q',
	  .action = OPTION_ENABLES },
};
const size_t run_option_count = sizeof run_options / sizeof *run_options;
_Static_assert(sizeof run_options / sizeof *run_options < RUN_OPTIONS_MAX, "arrays of options have room for them");

const struct option_table *run_option_keys(void)
{
	static struct iaprof_option keys[RUN_OPTIONS_MAX];
	static struct option_table table = { keys, 0, sizeof *keys };
	bool is_new = !table.count;
	for (size_t i = 0; is_new && i < run_option_count; i++) {
		if (!run_options[i].key.type)
			continue;
		keys[table.count] = run_options[i].key;
		keys[table.count++].name = run_options[i].name;
	}
	return &table;
}
