/* SPDX-License-Identifier: Apache-2.0 */
/* See foreign_usage.h. */
#include "config/foreign_usage.h"

#include <stdio.h>
#include <string.h>

#define NAMES_MAX 5

static const struct {
	const char *names[NAMES_MAX];     /* of perf, bcc, py-spy and others */
	const char *hint, *default_value; /* default_value: replaces "%s" if the value is unknown */
} options[] = {
	{ { "F", "freq", "frequency", "rate", "r" }, "use -s cpu-stack:frequency=%s", "99" },
	{ { "timeout", "sleep", "seconds" }, "use -d %s", "10s" },
	{ { "a", "all-cpus" }, "omit it (the whole system is the default)", NULL },
	{ { "g", "call-graph", "stacks" }, "omit it (stacks are always recorded)", NULL },
	{ { "e", "event" }, "use -s SOURCE (iaprof --list lists the sources)", NULL },
	{ { "f", "format" }, "use -k SINK (iaprof --list lists the sinks)", NULL },
	{ { "t", "tid", "u", "uid" }, "use -p PID (only processes can be selected)", NULL },
	{ { "html" }, "use -o FILE.html", NULL },
	{ { "svg" }, "use -k flamegraph:format=svg -o FILE.svg", NULL },
	{ { "json" }, "use -k summary:format=json", NULL },
	{ { "report" }, "use --replay FILE", NULL },
	{ { "l" }, "use --list", NULL },
	{ { "V" }, "use --version", NULL },
};

static const struct {
	const char *word, *hint;
} subcommands[] = {
	{ "record", "use --record run.iaprof" },
	{ "report", "use --replay run.iaprof" },
	{ "annotate", "use --replay run.iaprof -o run.html" },
	{ "script", "use --replay run.iaprof -k csv:rows=events" },
	{ "stat", "use -k summary" },
	{ "top", "use -k top" },
	{ "diff", "use --diff before.iaprof after.iaprof" },
	{ "replay", "use --replay run.iaprof" },
	{ "list", "use --list" },
	{ "check", "use --check" },
	{ "help", "use --help" },
	{ "version", "use --version" },
};

/* Returns whether a value can be repeated in a hint as it is. */
static bool is_plain(const char *value)
{
	static const char *const plain = "0123456789abcdefghijklmnopqrstuvwxyz.";
	return value && *value && strlen(value) < 16 && !value[strspn(value, plain)];
}

bool foreign_option_hint(const char *name, const char *value, char *text, size_t size)
{
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		for (size_t k = 0; k < NAMES_MAX && options[i].names[k]; k++) {
			const char *hint = options[i].hint, *place = strstr(hint, "%s");
			if (strcmp(options[i].names[k], name) != 0)
				continue;
			if (place)
				snprintf(text, size, "%.*s%s%s", (int)(place - hint), hint,
					 is_plain(value) ? value : options[i].default_value, place + 2);
			else
				snprintf(text, size, "%s", hint);
			return true;
		}
	return false;
}

const char *foreign_subcommand_hint(const char *word)
{
	for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++)
		if (strcmp(subcommands[i].word, word) == 0)
			return subcommands[i].hint;
	return NULL;
}
