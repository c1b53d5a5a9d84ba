/* SPDX-License-Identifier: Apache-2.0 */
/* The command line and the INI file: what is read, what is refused, and with which line. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <iaprof/host.h>

#include "base/cleanup.h"
#include "config/configuration.h"
#include "config/instance_configuration.h"
#include "../run_suite.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define WORD_MAX 24

static char folder[] = "/tmp/iaprof-configuration-XXXXXX";

static void make_folder(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
}

static void remove_folder(void)
{
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(rmdir(folder), 0);
	memcpy(strrchr(folder, '-'), "-XXXXXX", 7);
}

/* Options of sources that are options of iaprof, too. */
static const char *const *list_aliases(void *context)
{
	static const char *const names[] = { "lane-mask", "sample-every", "sample-first", NULL };
	return names;
}
static const struct option_aliases aliases = { .list = list_aliases };

/* Reads "iaprof" and the words. The command that is found points into words of the last call. */
static int read_words(struct configuration *configuration, const char *const *words, struct error *error)
{
	static char *arguments[WORD_MAX + 2];
	int count = 1;
	arguments[0] = (char *)"iaprof";
	for (; words[count - 1]; count++) {
		ck_assert_int_le(count, WORD_MAX);
		arguments[count] = (char *)words[count - 1];
	}
	arguments[count] = NULL;
	return configuration_read(configuration, count, arguments, &aliases, error);
}

#define WORDS(...)                                                                                                     \
	(const char *const[])                                                                                          \
	{                                                                                                              \
		__VA_ARGS__, NULL                                                                                      \
	}

static void expect_refusal(const char *const *words, const char *message)
{
	CLEANUP(configuration_free) struct configuration configuration = { 0 };
	struct error error = { 0 };
	ck_assert_msg(read_words(&configuration, words, &error) == -EINVAL, "accepted: %s", message);
	ck_assert_str_eq(error.text, message);
}

static void write_file(const char *name, const void *data, size_t size)
{
	FILE *file = fopen(name, "wb");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(data, 1, size, file), size);
	ck_assert_int_eq(fclose(file), 0);
}

static void expect_file_refusal(const void *data, size_t size, const char *message)
{
	write_file("x.ini", data, size);
	expect_refusal(WORDS("-c", "x.ini"), message);
	ck_assert_int_eq(unlink("x.ini"), 0);
}

static int read_file(struct configuration *configuration, const char *text, struct error *error)
{
	write_file("x.ini", text, strlen(text));
	int result = read_words(configuration, WORDS("-c", "x.ini"), error);
	ck_assert_int_eq(unlink("x.ini"), 0);
	return result;
}

static const char *value_of(const struct instance_configuration *instance, const char *key)
{
	const char *value = NULL;
	for (size_t i = 0; i < instance->settings.count; i++)
		if (strcmp(instance->settings.items[i].key, key) == 0)
			value = instance->settings.items[i].value;
	return value;
}

TEST(reads_no_options_at_all)
{
	CLEANUP(configuration_free) struct configuration configuration = { 0 };
	char *arguments[] = { (char *)"iaprof", NULL };
	struct error error = { 0 };
	ck_assert_int_eq(configuration_read(&configuration, 1, arguments, NULL, &error), 0);
	ck_assert_int_eq(configuration.action, ACTION_RUN);
	ck_assert_int_eq(configuration.scope, IAPROF_SCOPE_SYSTEM);
	ck_assert_uint_eq(configuration.duration, 0);
	ck_assert_uint_eq(configuration.interval, 0);
	ck_assert_uint_eq(configuration.sources.count + configuration.sinks.count + configuration.pids.count, 0);
	ck_assert_ptr_null(configuration.command);
	ck_assert_ptr_null(configuration.output);
	ck_assert_ptr_null(configuration.record_path);
	ck_assert_ptr_null(configuration.replay_path);
	ck_assert_int_eq(configuration.verbosity, 0);
	ck_assert_str_eq(error.text, "");
}

/* As --interval=MS of the profiler that had this name before; a duration stays one in seconds. */
TEST(plain_times_are_seconds)
{
	static const struct {
		const char *text;
		uint64_t interval;
	} cases[] = { { "10", 10000000000 }, { "1", 1000000000 }, { "500ms", 500000000 }, { "2.5", 2500000000 } };
	for (size_t i = 0; i < COUNT(cases); i++) {
		CLEANUP(configuration_free) struct configuration configuration = { 0 };
		ck_assert_int_eq(read_words(&configuration, WORDS("-d", "10", "--interval", cases[i].text), NULL), 0);
		ck_assert_uint_eq(configuration.interval, cases[i].interval);
		ck_assert_uint_eq(configuration.duration, 10000000000);
		CLEANUP(configuration_free) struct configuration of_file = { 0 };
		char text[64];
		snprintf(text, sizeof text, "[iaprof]\nduration = 10\ninterval = %s\n", cases[i].text);
		struct error error = { 0 };
		ck_assert_msg(read_file(&of_file, text, &error) == 0, "%s", error.text);
		ck_assert_uint_eq(of_file.interval, cases[i].interval);
		ck_assert_uint_eq(of_file.duration, 10000000000);
	}
}

TEST(reads_every_option)
{
	CLEANUP(configuration_free) struct configuration configuration = { 0 };
	const char *const *words =
		WORDS("-d", "30s", "--interval=1.5s", "-p", "1,2", "--pid", "3,2", "-o", "-", "-vv",
		      "--record=run.iaprof", "-s", "cpu-stack:frequency=199", "-k", "folded", "--check");
	ck_assert_int_eq(read_words(&configuration, words, NULL), 0);
	ck_assert_int_eq(configuration.action, ACTION_CHECK);
	ck_assert_uint_eq(configuration.duration, 30000000000);
	ck_assert_uint_eq(configuration.interval, 1500000000);
	ck_assert_int_eq(configuration.scope, IAPROF_SCOPE_PIDS);
	ck_assert_uint_eq(configuration.pids.count, 3);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_uint_eq(configuration.pids.items[i], i + 1);
	ck_assert_str_eq(configuration.output, "-");
	ck_assert_str_eq(configuration.record_path, "run.iaprof");
	ck_assert_int_eq(configuration.verbosity, 2);
	ck_assert_uint_eq(configuration.sources.count, 1);
	ck_assert_str_eq(configuration.sources.items[0].plugin, "cpu-stack");
	ck_assert_ptr_null(configuration.sources.items[0].id);
	ck_assert_str_eq(value_of(&configuration.sources.items[0], "frequency"), "199");
	ck_assert_str_eq(configuration.sources.items[0].settings.items[0].origin, "--source");
	ck_assert_uint_eq(configuration.sinks.count, 1);
	ck_assert_str_eq(configuration.sinks.items[0].plugin, "folded");
	ck_assert_ptr_null(configuration.command);
}

TEST(reads_keys_of_a_capture)
{
	static const struct {
		const char *word, *path, *key, *value; /* key NULL: none */
	} cases[] = {
		{ "run.iaprof", "run.iaprof", NULL, NULL },
		{ "run.iaprof,sources=yes", "run.iaprof", "sources", "yes" },
		{ "a,b,level=9,sources=/s", "a,b", "level", "9" },
		{ "a,b=c", "a", "b", "c" },
		{ "a,b,c", "a,b,c", NULL, NULL },
		{ "a,B=c", "a,B=c", NULL, NULL },
		{ "a,level=9,sources=a\\,b", "a", "sources", "a,b" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		CLEANUP(configuration_free) struct configuration configuration = { 0 };
		ck_assert_int_eq(read_words(&configuration, WORDS("--record", cases[i].word), NULL), 0);
		ck_assert_str_eq(configuration.record_path, cases[i].path);
		ck_assert_int_eq(configuration.record.plugin == NULL, cases[i].key == NULL);
		if (cases[i].key)
			ck_assert_str_eq(value_of(&configuration.record, cases[i].key), cases[i].value);
	}
	static const char *const wrong[] = { ",level=9", "a,level=9,", "a,level=9,level=8", "a,output=b",
					     "a,level=9,b" };
	for (size_t i = 0; i < COUNT(wrong); i++) {
		CLEANUP(configuration_free) struct configuration configuration = { 0 };
		struct error error = { 0 };
		ck_assert_int_eq(read_words(&configuration, WORDS("--record", wrong[i]), &error), -EINVAL);
	}
}

TEST(reads_levels_and_the_last_of_an_option)
{
	static const struct {
		const char *word;
		int verbosity;
	} cases[] = { { "-q", -1 }, { "--quiet", -1 }, { "-v", 1 }, { "--verbose", 1 }, { "-vv", 2 }, { "-vvvv", 2 } };
	for (size_t i = 0; i < COUNT(cases); i++) {
		CLEANUP(configuration_free) struct configuration configuration = { 0 };
		const char *const *words = WORDS(cases[i].word, "-d", "1s", "-d", "2s", "-o", "a", "-o", "b");
		ck_assert_int_eq(read_words(&configuration, words, NULL), 0);
		ck_assert_int_eq(configuration.verbosity, cases[i].verbosity);
		ck_assert_uint_eq(configuration.duration, 2000000000);
		ck_assert_str_eq(configuration.output, "b");
	}
}

TEST(finds_the_command)
{
	static const struct {
		const char *words[5];
		const char *command[4];
	} cases[] = {
		{ { "sleep", "30" }, { "sleep", "30" } },
		{ { "sleep", "-d", "--", "x" }, { "sleep", "-d", "--" } },
		{ { "--", "-odd", "1" }, { "-odd", "1" } },
		{ { "-d", "1s", "make", "-k" }, { "make", "-k" } },
		{ { "--scope", "command", "make", "-k" }, { "make", "-k" } },
		{ { "-p", "1", "sleep", "30" }, { "sleep", "30" } }, /* as perf: so long as the command runs */
		{ { "-", "x" }, { "-", "x" } },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		CLEANUP(configuration_free) struct configuration configuration = { 0 };
		ck_assert_int_eq(read_words(&configuration, cases[i].words, NULL), 0);
		for (size_t j = 0; cases[i].command[j]; j++)
			ck_assert_str_eq(configuration.command[j], cases[i].command[j]);
	}
	CLEANUP(configuration_free) struct configuration configuration = { 0 };
	ck_assert_int_eq(read_words(&configuration, WORDS("-v", "--"), NULL), 0);
	ck_assert_ptr_null(configuration.command);
}

TEST(finds_the_action)
{
	static const struct {
		const char *words[4];
		enum configuration_action action;
		const char *plugin;
	} cases[] = {
		{ { "--list" }, ACTION_LIST, NULL },
		{ { "--check" }, ACTION_CHECK, NULL },
		{ { "--check", "sleep", "1" }, ACTION_CHECK, NULL },
		{ { "--version" }, ACTION_VERSION, NULL },
		{ { "--help" }, ACTION_HELP, NULL },
		{ { "-h" }, ACTION_HELP, NULL },
		{ { "--help", "cpu-stack" }, ACTION_HELP, "cpu-stack" },
		{ { "--help=cpu-stack" }, ACTION_HELP, "cpu-stack" },
		{ { "-h", "cpu-stack" }, ACTION_HELP, "cpu-stack" },
		{ { "-hcpu-stack" }, ACTION_HELP, "cpu-stack" },
		{ { "-v", "--help", "-q" }, ACTION_HELP, NULL },
		{ { "--help", "--", "x" }, ACTION_HELP, NULL },
		{ { "-c", "no-such.ini", "--list" }, ACTION_LIST, NULL },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		CLEANUP(configuration_free) struct configuration configuration = { 0 };
		ck_assert_int_eq(read_words(&configuration, cases[i].words, NULL), 0);
		ck_assert_int_eq(configuration.action, cases[i].action);
		ck_assert_pstr_eq(configuration.help_plugin, cases[i].plugin);
	}
}

TEST(refuses_bad_command_lines)
{
	static const struct {
		const char *words[7];
		const char *message;
	} cases[] = {
		{ { "--durtion", "3s" }, "unknown option --durtion: did you mean --duration?" },
		{ { "--durtion=3s" }, "unknown option --durtion: did you mean --duration?" },
		{ { "--frobnicate" }, "unknown option --frobnicate: see iaprof --help all" },
		{ { "--re", "x" }, "--re is ambiguous: --record --replay" },
		{ { "-x" }, "unknown option -x: see iaprof --help all" },
		{ { "-vx" }, "unknown option -x: see iaprof --help all" },
		{ { "-\xc3\xa4" }, "unknown option (not an ASCII letter): see iaprof --help all" },
		{ { "--=x" },
		  "-- is ambiguous: --pid --children --cgroup --container --scope --duration --source --hold "
		  "--finish-within --sink --output --interval --continuous --status-file --memory --budget --record "
		  "--replay --diff --normalize --decoder --debuginfod --rules --config --plugin-path --check "
		  "--self-test "
		  "--list --help --version "
		  "--verbose "
		  "--quiet" },
		{ { "--list=all" }, "--list does not take a value" },
		{ { "-d" }, "--duration requires a value" },
		{ { "--scope" }, "--scope requires a value" },
		{ { "-d", "soon" }, "command line: duration: 'soon' is not a time such as 30s (ns, us, ms, s, m, h)" },
		{ { "-d", "0" }, "command line: duration: 0 is out of range (1ms to 8760h)" },
		{ { "-d", "9000h" }, "command line: duration: 9000h is out of range (1ms to 8760h)" },
		{ { "-d", "" }, "command line: duration: '' is not a time such as 30s (ns, us, ms, s, m, h)" },
		{ { "-i", "-1" }, "command line: interval: '-1' is not a time such as 30s (ns, us, ms, s, m, h)" },
		{ { "-p", "0" }, "command line: pid: '0' is not a process ID (1 to 4194304)" },
		{ { "-p", "1,,2" }, "command line: pid: '' is not a process ID (1 to 4194304)" },
		{ { "-p", "1 2,3" }, "command line: pid: '1 2' is not a process ID (1 to 4194304)" },
		{ { "-p", "1,x" }, "command line: pid: 'x' is not a process ID (1 to 4194304)" },
		{ { "-p", "1", "-p", "4194305" }, "command line: pid: '4194305' is not a process ID (1 to 4194304)" },
		{ { "-p", "" }, "command line: pid: '' is not a process ID (1 to 4194304)" },
		{ { "--scope", "sytem" },
		  "command line: scope: 'sytem' is not one of auto, system, command: did you mean 'system'?" },
		{ { "--scope", "command" }, "scope 'command' requires a command" },
		{ { "-p", "1", "--scope", "command", "true" }, "--scope and --pid are mutually exclusive" },
		{ { "-p", "1", "--scope", "system" }, "--scope and --pid are mutually exclusive" },
		{ { "-p", "1", "--cgroup", "x" }, "--pid and --cgroup are mutually exclusive" },
		{ { "--container", "a", "--cgroup", "x" }, "--cgroup and --container are mutually exclusive" },
		{ { "--scope", "system", "--container", "a" }, "--scope and --container are mutually exclusive" },
		{ { "--debuginfod", "file:///etc" },
		  "command line: debuginfod: 'file:///etc' is not a URL such as https://debuginfod.debian.net" },
		{ { "--children", "no" }, "--children requires --pid" },
		{ { "-p", "1", "--children", "some" }, "command line: children: 'some' is not one of yes, no" },
		{ { "--replay", "f", "--cgroup", "x" }, "--replay and --cgroup are mutually exclusive" },
		{ { "-q", "-v" }, "--verbose and --quiet are mutually exclusive" },
		{ { "-o", "" }, "command line: output: missing file name" },
		{ { "--record", "" }, "command line: record: missing file name" },
		{ { "--list", "--check" }, "--list and --check are mutually exclusive" },
		{ { "--list", "true" }, "--list does not take a command" },
		{ { "--replay", "f", "-s", "cpu-stack" }, "--replay and --source are mutually exclusive" },
		{ { "--replay", "f", "-p", "1" }, "--replay and --pid are mutually exclusive" },
		{ { "--replay", "f", "-d", "1s" }, "--replay and --duration are mutually exclusive" },
		{ { "--replay", "f", "--scope", "system" }, "--replay and --scope are mutually exclusive" },
		{ { "--replay", "f", "make" }, "--replay and a command (make) are mutually exclusive" },
		{ { "--replay", "f", "--record", "f" }, "record and replay name the same file: f" },
		{ { "--diff" }, "--diff requires a value" },
		{ { "--diff", "a" }, "--diff requires two files: --diff BEFORE AFTER" },
		{ { "--diff", "a", "-o", "b" }, "--diff requires two files: --diff BEFORE AFTER" },
		{ { "--diff", "", "b" }, "--diff: before: missing file name" },
		{ { "--diff", "a", "" }, "--diff: after: missing file name" },
		{ { "--diff", "a", "b", "--replay", "f" }, "--diff and --replay are mutually exclusive" },
		{ { "--diff", "a", "b", "--record", "f" }, "--diff and --record are mutually exclusive" },
		{ { "--diff", "a", "b", "-s", "cpu-stack" }, "--diff and --source are mutually exclusive" },
		{ { "--diff", "a", "b", "-p", "1" }, "--diff and --pid are mutually exclusive" },
		{ { "--diff", "a", "b", "-d", "1" }, "--diff and --duration are mutually exclusive" },
		{ { "--diff", "a", "b", "-i", "1" }, "--diff and --interval are mutually exclusive" },
		{ { "--diff", "a", "b", "make" }, "--diff and a command (make) are mutually exclusive" },
		{ { "--normalize", "total" }, "--normalize requires --diff BEFORE AFTER" },
		{ { "--diff", "a", "b", "--normalize", "all" },
		  "command line: normalize: 'all' is not one of none, total, duration" },
		{ { "-o", "a", "-k", "folded", "-k", "csv" },
		  "--output with 2 sinks (set output= for each sink instead)" },
		{ { "-o", "a", "-k", "folded:output=b" },
		  "--output and output of the sink (--sink) are mutually exclusive" },
		{ { "-s", "cpu-stack", "-s", "cpu-stack" },
		  "duplicate cpu-stack, first in --source (use cpu-stack.ID for a second instance)" },
		{ { "-k", "csv.a", "-k", "csv.a" },
		  "duplicate csv.a, first in --sink (use csv.ID for a second instance)" },
		{ { "-c", "no-such.ini" }, "cannot read no-such.ini: No such file or directory" },
		{ { "-c", "." }, "cannot read .: it is a folder, not an INI file" },
		{ { "-c", "/dev/null" }, "cannot read /dev/null: it is not a regular file" },
		{ { "-c", "" }, "cannot read : No such file or directory" },
	};
	for (size_t i = 0; i < COUNT(cases); i++)
		expect_refusal(cases[i].words, cases[i].message);
}

TEST(reads_source_arguments)
{
	static const struct {
		const char *argument, *plugin, *id, *keys[2], *values[2];
	} cases[] = {
		{ "cpu-stack", "cpu-stack", NULL, { NULL }, { NULL } },
		{ "cpu-stack.2", "cpu-stack", "2", { NULL }, { NULL } },
		{ "cpu-stack.user_A-1:a=1", "cpu-stack", "user_A-1", { "a" }, { "1" } },
		{ "x:a=1,b=2", "x", NULL, { "a", "b" }, { "1", "2" } },
		{ "x:a=", "x", NULL, { "a" }, { "" } },
		{ "x:a=b=c:d", "x", NULL, { "a" }, { "b=c:d" } },
		{ "x:a=1\\,2,b=3", "x", NULL, { "a", "b" }, { "1,2", "3" } },
		{ "x:a=C\\\\,b=\\d", "x", NULL, { "a", "b" }, { "C\\", "\\d" } },
		{ "x:a=\\", "x", NULL, { "a" }, { "\\" } },
		{ "x:a=\"q\"", "x", NULL, { "a" }, { "\"q\"" } },
		{ "./iaprof-x.so", "./iaprof-x.so", NULL, { NULL }, { NULL } },
		{ "/a.b/iaprof-x.so.two:k=v", "/a.b/iaprof-x.so", "two", { "k" }, { "v" } },
		{ "/a\\:b/iaprof-x.so:k=v", "/a:b/iaprof-x.so", NULL, { "k" }, { "v" } },
		{ "./x", "./x", NULL, { NULL }, { NULL } },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		CLEANUP(configuration_free) struct configuration configuration = { 0 };
		struct error error = { 0 };
		ck_assert_msg(read_words(&configuration, WORDS("-s", cases[i].argument), &error) == 0, "%s: %s",
			      cases[i].argument, error.text);
		const struct instance_configuration *source = &configuration.sources.items[0];
		ck_assert_str_eq(source->plugin, cases[i].plugin);
		ck_assert_pstr_eq(source->id, cases[i].id);
		size_t count = 0;
		for (; count < 2 && cases[i].keys[count]; count++) {
			ck_assert_uint_lt(count, source->settings.count);
			ck_assert_str_eq(source->settings.items[count].key, cases[i].keys[count]);
			ck_assert_str_eq(source->settings.items[count].value, cases[i].values[count]);
		}
		ck_assert_uint_eq(source->settings.count, count);
	}
}

TEST(refuses_bad_source_arguments)
{
	static const struct {
		const char *argument, *message;
	} cases[] = {
		{ "", "--source: '' is not a plugin name (lower-case letters, digits and '-')" },
		{ ":a=1", "--source: '' is not a plugin name (lower-case letters, digits and '-')" },
		{ "CPU", "--source: 'CPU' is not a plugin name (lower-case letters, digits and '-')" },
		{ "cpu stack", "--source: 'cpu stack' is not a plugin name (lower-case letters, digits and '-')" },
		{ "cpu\x1b[2J", "--source: 'cpu?[2J' is not a plugin name (lower-case letters, digits and '-')" },
		{ "x.", "--source: 'x.': an instance ID has letters, digits, '-' and '_'" },
		{ "x.a.b", "--source: 'x.a.b': an instance ID has letters, digits, '-' and '_'" },
		{ "./x.so.", "--source: './x.so.': an instance ID has letters, digits, '-' and '_'" },
		{ "x:", "--source x: missing key=value after ':' or ','" },
		{ "x:a=1,", "--source x: missing key=value after ':' or ','" },
		{ "x:a=1,,b=2", "--source x: missing key=value after ':' or ','" },
		{ "x:lines", "--source x: 'lines' has no value (use lines=VALUE)" },
		{ "x:=1", "--source x: '=1' has no key" },
		{ "x:a=1,a=2", "--source x: 'a' is set twice, first in --source" },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		  "--source: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...' is not a plugin "
		  "name "
		  "(lower-case letters, digits and '-')" },
	};
	for (size_t i = 0; i < COUNT(cases); i++)
		expect_refusal(WORDS("-s", cases[i].argument), cases[i].message);
}

TEST(reads_a_file)
{
	CLEANUP(configuration_free) struct configuration configuration = { 0 };
	struct error error = { 0 };
	const char *text = "\xef\xbb\xbf; comment\r\n"
			   "# comment\r\n"
			   "\r\n"
			   "  [iaprof] ; the run\r\n"
			   "duration = 30s\r\n"
			   "   interval=1s ; each\r\n"
			   "\tpid = 1 ,\t2\n"
			   "verbose = 1\n"
			   "\n"
			   "[source:cpu-stack]\n"
			   "[source:cpu-stack.fast]\n"
			   "frequency = 999\n"
			   "    label = a = b # c\n"
			   "[sink:csv]\n"
			   "output = a;b.csv\n"
			   "[sink:/a/folder/with/a/name/that/is/longer/than/fifty/bytes/iaprof-x.so]\n"
			   "rows=events"; /* no newline */
	ck_assert_msg(read_file(&configuration, text, &error) == 0, "%s", error.text);
	ck_assert_uint_eq(configuration.duration, 30000000000);
	ck_assert_uint_eq(configuration.interval, 1000000000);
	ck_assert_int_eq(configuration.scope, IAPROF_SCOPE_PIDS);
	ck_assert_uint_eq(configuration.pids.count, 2);
	ck_assert_int_eq(configuration.verbosity, 1);
	ck_assert_uint_eq(configuration.sources.count, 2);
	ck_assert_ptr_null(configuration.sources.items[0].id);
	ck_assert_uint_eq(configuration.sources.items[0].settings.count, 0);
	ck_assert_str_eq(configuration.sources.items[0].origin, "x.ini:10");
	ck_assert_str_eq(configuration.sources.items[1].id, "fast");
	ck_assert_str_eq(value_of(&configuration.sources.items[1], "frequency"), "999");
	ck_assert_str_eq(value_of(&configuration.sources.items[1], "label"), "a = b # c");
	ck_assert_str_eq(configuration.sources.items[1].settings.items[1].origin, "x.ini:13");
	ck_assert_uint_eq(configuration.sinks.count, 2);
	ck_assert_str_eq(value_of(&configuration.sinks.items[0], "output"), "a;b.csv");
	ck_assert_str_eq(configuration.sinks.items[1].plugin,
			 "/a/folder/with/a/name/that/is/longer/than/fifty/bytes/iaprof-x.so");
	ck_assert_str_eq(value_of(&configuration.sinks.items[1], "rows"), "events");
}

TEST(reads_files_that_ask_for_nothing)
{
	static const char *const texts[] = { "",      "\n",           "\n\n\n",   "; x",
					     "# x\n", "\xef\xbb\xbf", "[iaprof]", "[iaprof]\n" };
	for (size_t i = 0; i < COUNT(texts); i++) {
		CLEANUP(configuration_free) struct configuration configuration = { 0 };
		struct error error = { 0 };
		ck_assert_msg(read_file(&configuration, texts[i], &error) == 0, "%s", error.text);
		ck_assert_uint_eq(configuration.sources.count + configuration.sinks.count, 0);
		ck_assert_uint_eq(configuration.duration, 0);
	}
}

TEST(refuses_bad_files)
{
#define FILE_CASE(text, message)                                                                                       \
	{                                                                                                              \
		text, sizeof(text) - 1, message                                                                        \
	}
	static const struct {
		const char *text;
		size_t size;
		const char *message;
	} cases[] = {
		FILE_CASE("[iaprof]\n\ndurtion = 3s\n", "x.ini:3: unknown key 'durtion': did you mean 'duration'?"),
		FILE_CASE("[iaprof]\nduration = 0\n", "x.ini:2: duration: 0 is out of range (1ms to 8760h)"),
		FILE_CASE("[iaprof]\nlist = yes\n",
			  "x.ini:2: unknown key 'list' (keys: pid, children, cgroup, container, scope, duration, hold, "
			  "finish-within, output, interval, continuous, status-file, memory, budget, record, replay, "
			  "before, after, "
			  "normalize, "
			  "debuginfod, rules, plugin-path, verbose, quiet)"),
		FILE_CASE("[iaprof]\nverbose = 3\n", "x.ini:2: verbose: 3 is out of range (0 to 2)"),
		FILE_CASE("[iaprof]\noutput =\n", "x.ini:2: output: missing file name"),
		FILE_CASE("[iaprof]\npid = 1,a\n", "x.ini:2: pid: 'a' is not a process ID (1 to 4194304)"),
		FILE_CASE("[iaprof]\npid = 1\nscope = system\n",
			  "scope (x.ini:3) and pid (x.ini:2) are mutually exclusive"),
		FILE_CASE("[iaprof]\nscope = command\n", "scope 'command' requires a command"),
		FILE_CASE("[iaprof]\nreplay = f\n[source:cpu-stack]\n",
			  "replay (x.ini:2) and source (x.ini:3) are mutually exclusive"),
		FILE_CASE("[iaprof]\nbefore = f\n", "before (x.ini:2) without after: a difference requires two files"),
		FILE_CASE("[iaprof]\nafter = f\n", "after (x.ini:2) without before: a difference requires two files"),
		FILE_CASE("[iaprof]\noutput = a\n[sink:csv]\noutput=b\n",
			  "output (x.ini:2) and output of the sink (x.ini:4) are mutually exclusive"),
		FILE_CASE("duration = 3s\n", "x.ini:1: 'duration' is outside of a section ([iaprof], [source:NAME], "
					     "[sink:NAME] or [decoder:NAME])"),
		FILE_CASE("[iaprof]\nduration\n", "x.ini:2: expected key = value, or [section]"),
		FILE_CASE("[iaprof]\n= 3s\n", "x.ini:2: expected key = value"),
		/* The first fault is shown, although inih reads on. */
		FILE_CASE("[iaprof]\nduration\n[what]\n", "x.ini:2: expected key = value, or [section]"),
		FILE_CASE("[iaprof\n", "x.ini:1: section heading without ']'"),
		FILE_CASE("[iaprof] x\n", "x.ini:1: text after the ']' of a section heading"),
		FILE_CASE("[iaprof]\n[iaprof]\n", "x.ini:2: duplicate section [iaprof], first in x.ini:1"),
		FILE_CASE("[iaprof]\nduration=1\nduration=2\n", "x.ini:3: 'duration' is set twice, first in x.ini:2"),
		FILE_CASE("[source:a]\n[source:b]\n[source:a]\n",
			  "x.ini:3: duplicate a, first in x.ini:1 (use a.ID for a second instance)"),
		FILE_CASE("[source:a]\nk=1\n k=2\n", "x.ini:3: 'k' is set twice, first in x.ini:2"),
		FILE_CASE("[]\n", "x.ini:1: unknown section [] (sections are [iaprof], [source:NAME], [sink:NAME] and "
				  "[decoder:NAME])"),
		FILE_CASE("[colour]\n",
			  "x.ini:1: unknown section [colour] (sections are [iaprof], [source:NAME], [sink:NAME] and "
			  "[decoder:NAME])"),
		FILE_CASE("[iaporf]\n", "x.ini:1: unknown section [iaporf]: did you mean [iaprof]?"),
		FILE_CASE("[sorce:cpu-stack]\n",
			  "x.ini:1: unknown section [sorce:cpu-stack]: did you mean [source:cpu-stack]?"),
		FILE_CASE("[decoder:a]\n[decoder:a]\n",
			  "x.ini:2: duplicate a, first in x.ini:1 (use a.ID for a second instance)"),
		FILE_CASE("[sink]\n", "x.ini:1: unknown section [sink]: did you mean [sink:NAME]?"),
		FILE_CASE("[source:]\n", "x.ini:1: '' is not a plugin name (lower-case letters, digits and '-')"),
		FILE_CASE("[source:A b]\n", "x.ini:1: 'A b' is not a plugin name (lower-case letters, digits and '-')"),
		FILE_CASE("[iaprof]\n\0\n", "x.ini:2: byte 0x00 is not text: not an INI file"),
		FILE_CASE("; \x1b[2J\n", "x.ini:1: byte 0x1b is not text: not an INI file"),
		FILE_CASE("\x7f"
			  "ELF\x02\x01\x01",
			  "x.ini:1: byte 0x7f is not text: not an INI file"),
		FILE_CASE("[iaprof]\rduration=1\n", "x.ini:1: byte 0x0d is not text: not an INI file"),
	};
	for (size_t i = 0; i < COUNT(cases); i++)
		expect_file_refusal(cases[i].text, cases[i].size, cases[i].message);
}

/* How long a line may be is a setting of inih's build: it is read whole or refused, never cut. */
TEST(refuses_or_reads_long_lines)
{
	for (size_t length = 150; length < 3000; length += 7) {
		CLEANUP(configuration_free) struct configuration configuration = { 0 };
		struct error error = { 0 };
		char *text CLEANUP_FREE = NULL;
		ck_assert_int_gt(asprintf(&text, "[sink:csv]\nlabel=%0*d", (int)length, 7), 0);
		if (read_file(&configuration, text, &error) == 0) {
			ck_assert_uint_eq(strlen(value_of(&configuration.sinks.items[0], "label")), length);
		} else {
			int limit;
			ck_assert_int_eq(sscanf(error.text, "x.ini:2: the line is longer than %d bytes", &limit), 1);
			ck_assert_uint_gt(length + strlen("label="), (size_t)limit);
		}
	}
}

TEST(refuses_huge_files)
{
	size_t size = 5 << 20;
	char *text CLEANUP_FREE = malloc(size);
	memset(text, '\n', size);
	expect_file_refusal(text, size, "x.ini is too large for an INI file: more than 1 MiB");
	expect_file_refusal(text, (1 << 20) + 1, "x.ini is too large for an INI file: more than 1 MiB");
	/* What just fits is read. */
	CLEANUP(configuration_free) struct configuration configuration = { 0 };
	write_file("x.ini", text, 1 << 20);
	ck_assert_int_eq(read_words(&configuration, WORDS("-c", "x.ini"), NULL), 0);
	ck_assert_int_eq(unlink("x.ini"), 0);
}

/* A megabyte of sections or keys is refused at once, not compared with each other for minutes. */
TEST(refuses_endless_lists)
{
	char *text CLEANUP_FREE = malloc(1 << 20);
	size_t size = 0;
	for (int i = 0; size < (1 << 20) - 32; i++)
		size += (size_t)sprintf(text + size, "[sink:x%d]\n", i);
	expect_file_refusal(text, size, "x.ini:1001: more than 1000 sources or sinks");
	size = (size_t)sprintf(text, "[sink:x]\n");
	for (int i = 0; size < (1 << 20) - 32; i++)
		size += (size_t)sprintf(text + size, "k%d=\n", i);
	expect_file_refusal(text, size, "x.ini:258: more than 256 keys");
}

TEST(refuses_files_that_cannot_be_read)
{
	ck_assert_int_eq(mkfifo("fifo", 0600), 0);
	expect_refusal(WORDS("-c", "fifo"), "cannot read fifo: it is not a regular file");
	ck_assert_int_eq(unlink("fifo"), 0);
	ck_assert_int_eq(symlink("loop", "loop"), 0);
	expect_refusal(WORDS("-c", "loop"), "cannot read loop: Too many levels of symbolic links");
	ck_assert_int_eq(unlink("loop"), 0);
	if (geteuid() == 0)
		return; /* root can read everything */
	write_file("secret", "", 0);
	ck_assert_int_eq(chmod("secret", 0), 0);
	expect_refusal(WORDS("-c", "secret"), "cannot read secret: Permission denied");
	ck_assert_int_eq(unlink("secret"), 0);
}

static const char layered[] = "[iaprof]\n"
			      "duration = 10s\n"
			      "pid = 7\n"
			      "verbose = 2\n"
			      "output = file.folded\n"
			      "[source:cpu-stack]\n"
			      "frequency = 99\n"
			      "idle = yes\n"
			      "[sink:folded]\n";

TEST(lets_the_command_line_override_the_file)
{
	CLEANUP(configuration_free) struct configuration configuration = { 0 };
	write_file("x.ini", layered, sizeof layered - 1);
	const char *const *words = WORDS("-c", "x.ini", "-d", "1s", "-q", "-s", "cpu-stack:frequency=199", "-s",
					 "cpu-stack.b:frequency=9", "-o", "other");
	ck_assert_int_eq(read_words(&configuration, words, NULL), 0);
	ck_assert_uint_eq(configuration.duration, 1000000000);
	ck_assert_int_eq(configuration.scope, IAPROF_SCOPE_PIDS); /* the file's pid */
	ck_assert_uint_eq(configuration.pids.items[0], 7);
	ck_assert_int_eq(configuration.verbosity, -1);
	ck_assert_str_eq(configuration.output, "other");
	ck_assert_uint_eq(configuration.sources.count, 2);
	ck_assert_str_eq(value_of(&configuration.sources.items[0], "frequency"), "199");
	ck_assert_str_eq(value_of(&configuration.sources.items[0], "idle"), "yes");
	ck_assert_str_eq(value_of(&configuration.sources.items[1], "frequency"), "9");
	ck_assert_int_eq(unlink("x.ini"), 0);
}

/* Only sleep is a timer, by its file name. */
TEST(profiles_the_command_unless_it_is_sleep)
{
	static const struct {
		const char *words[6];
		int scope;
		bool is_timer;
	} cases[] = {
		{ { "make", "sleep" }, IAPROF_SCOPE_COMMAND, false },
		{ { "--", "./sleep.sh" }, IAPROF_SCOPE_COMMAND, false },
		{ { "/bin/sleep/" }, IAPROF_SCOPE_COMMAND, false },
		{ { "sleep", "30" }, IAPROF_SCOPE_SYSTEM, true },
		{ { "--", "/usr/bin/sleep", "30" }, IAPROF_SCOPE_SYSTEM, true },
		{ { "--scope", "auto", "make" }, IAPROF_SCOPE_COMMAND, false },
		{ { "--scope", "system", "make" }, IAPROF_SCOPE_SYSTEM, false },
		{ { "--scope", "system", "sleep", "30" }, IAPROF_SCOPE_SYSTEM, true },
		{ { "--scope", "command", "sleep", "30" }, IAPROF_SCOPE_COMMAND, false },
		{ { "-p", "1", "sleep", "30" }, IAPROF_SCOPE_PIDS, true },
		{ { "--cgroup", "x", "make" }, IAPROF_SCOPE_CGROUP, false },
		{ { "-d", "1s" }, IAPROF_SCOPE_SYSTEM, false },
		{ { "-d", "1s", "--scope", "auto" }, IAPROF_SCOPE_SYSTEM, false },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		CLEANUP(configuration_free) struct configuration configuration = { 0 };
		ck_assert_int_eq(read_words(&configuration, cases[i].words, NULL), 0);
		ck_assert_msg(configuration.scope == cases[i].scope && configuration.is_timer == cases[i].is_timer,
			      "case %zu", i);
	}
}

/* The exit status of an error depends on it. */
TEST(finds_the_command_after_an_error)
{
	static const struct {
		const char *words[6];
		const char *command;
	} cases[] = {
		{ { "--no-such", "make" }, "make" },
		{ { "-F", "99", "make", "-j" }, "make" },
		{ { "-d", "soon", "--", "make" }, "make" },
		{ { "-xd", "1s" }, NULL },
		{ { "--no-such" }, NULL },
		{ { "-F", "99" }, NULL },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		CLEANUP(configuration_free) struct configuration configuration = { 0 };
		struct error error = { 0 };
		ck_assert_int_lt(read_words(&configuration, cases[i].words, &error), 0);
		if (cases[i].command)
			ck_assert_str_eq(configuration.command[0], cases[i].command);
		else
			ck_assert_ptr_null(configuration.command);
	}
}

/* The sink that an output implies, its format, and what contradicts a name. */
TEST(takes_formats_from_names_of_outputs)
{
	static const struct {
		const char *words[5];
		const char *sink, *format; /* sink NULL: none; format NULL: not set */
	} good[] = {
		{ { "-o", "a.html" }, "flamegraph", "html" },
		{ { "-o", "a.svg" }, "flamegraph", "svg" },
		{ { "-o", "a.json" }, "summary", "json" },
		{ { "-o", "a.speedscope.json" }, "speedscope", NULL },
		{ { "-o", "a.firefox.json.gz" }, "firefox", NULL },
		{ { "-o", "a.pb.gz" }, "pprof", NULL },
		{ { "-o", "a.folded" }, "folded", NULL },
		{ { "-o", "b/a.csv" }, "csv", NULL },
		{ { "-o", "a.perfetto-trace" }, "perfetto", NULL },
		{ { "-o", "a.pftrace" }, "perfetto", NULL },
		{ { "-o", "a.iaprof" }, "capture", NULL },
		{ { "-o", "a.txt" }, NULL, NULL },
		{ { "-o", "a.gz" }, NULL, NULL },
		{ { "-o", "a.json.gz" }, NULL, NULL },
		{ { "-o", "a.SVG" }, NULL, NULL },
		{ { "-o", "html" }, NULL, NULL },
		{ { "-o", ".html" }, NULL, NULL },
		{ { "-o", "-" }, NULL, NULL },
		{ { "-k", "flamegraph", "-o", "a.svg" }, "flamegraph", "svg" },
		{ { "-k", "flamegraph:output=a.svg" }, "flamegraph", "svg" },
		{ { "-k", "flamegraph:format=svg", "-o", "a.txt" }, "flamegraph", "svg" },
		{ { "-k", "summary:format=json", "-o", "a.json" }, "summary", "json" },
		{ { "-k", "speedscope", "-o", "a.json" }, "speedscope", NULL },
		{ { "-k", "firefox", "-o", "a.json.gz" }, "firefox", NULL },
		{ { "-k", "summary", "-o", "a.txt" }, "summary", NULL },
		{ { "-k", "other", "-o", "a.html" }, "other", NULL },
		{ { "-k", "./iaprof-mine.so", "-o", "a.svg" }, "./iaprof-mine.so", NULL },
	};
	for (size_t i = 0; i < COUNT(good); i++) {
		CLEANUP(configuration_free) struct configuration configuration = { 0 };
		struct error error = { 0 };
		ck_assert_msg(!read_words(&configuration, good[i].words, &error), "%s", error.text);
		ck_assert_uint_eq(configuration.sinks.count, good[i].sink ? 1 : 0);
		if (!good[i].sink)
			continue;
		ck_assert_str_eq(configuration.sinks.items[0].plugin, good[i].sink);
		const struct setting *format = instance_find_setting(&configuration.sinks.items[0], "format");
		ck_assert_pstr_eq(format ? format->value : NULL, good[i].format);
	}
	static const struct {
		const char *words[5], *message;
	} bad[] = {
		{ { "-k", "pprof", "-o", "a.html" },
		  "sink pprof does not write .html files: a.html (use -k flamegraph, or another name)" },
		{ { "-k", "folded:output=a.svg" },
		  "sink folded does not write .svg files: a.svg (use -k flamegraph:format=svg, or another name)" },
		{ { "-k", "top", "-o", "a.csv" },
		  "sink top does not write .csv files: a.csv (use -k csv, or another name)" },
		{ { "-k", "summary", "-o", "a.speedscope.json" },
		  "sink summary does not write .speedscope.json files: a.speedscope.json (use -k speedscope, or "
		  "another "
		  "name)" },
		{ { "-k", "flamegraph:format=svg", "-o", "a.html" },
		  "sink flamegraph: format=svg does not write .html files: a.html (use another name)" },
		{ { "-k", "summary:format=text", "-o", "a.json" },
		  "sink summary: format=text does not write .json files: a.json (use another name)" },
		{ { "--record", "a.html" },
		  "--record: sink capture does not write .html files: a.html (use -k flamegraph, or another name)" },
	};
	for (size_t i = 0; i < COUNT(bad); i++) {
		CLEANUP(configuration_free) struct configuration configuration = { 0 };
		struct error error = { 0 };
		ck_assert_msg(read_words(&configuration, bad[i].words, &error) == -EINVAL, "accepted: %s",
			      bad[i].message);
		ck_assert_str_eq(error.text, bad[i].message);
	}
}

TEST(lets_the_scope_override_the_files_pid)
{
	CLEANUP(configuration_free) struct configuration configuration = { 0 };
	CLEANUP(configuration_free) struct configuration other = { 0 };
	write_file("x.ini", layered, sizeof layered - 1);
	ck_assert_int_eq(read_words(&configuration, WORDS("-c", "x.ini", "--scope", "command", "true"), NULL), 0);
	ck_assert_int_eq(configuration.scope, IAPROF_SCOPE_COMMAND);
	ck_assert_uint_eq(configuration.pids.count, 0);
	ck_assert_int_eq(read_words(&other, WORDS("-c", "x.ini", "-p", "8"), NULL), 0);
	ck_assert_uint_eq(other.pids.count, 1);
	ck_assert_uint_eq(other.pids.items[0], 8);
	ck_assert(!other.without_children);
	CLEANUP(configuration_free) struct configuration cgroup = { 0 };
	ck_assert_int_eq(read_words(&cgroup, WORDS("-c", "x.ini", "--cgroup", "/a.slice"), NULL), 0);
	ck_assert_int_eq(cgroup.scope, IAPROF_SCOPE_CGROUP);
	ck_assert_str_eq(cgroup.cgroup, "/a.slice");
	ck_assert_uint_eq(cgroup.pids.count, 0);
	CLEANUP(configuration_free) struct configuration alone = { 0 };
	ck_assert_int_eq(read_words(&alone, WORDS("-p", "8", "--children", "no"), NULL), 0);
	ck_assert(alone.without_children);
	ck_assert_int_eq(unlink("x.ini"), 0);
}

TEST(lets_a_sinks_output_override_the_files)
{
	CLEANUP(configuration_free) struct configuration configuration = { 0 };
	write_file("x.ini", layered, sizeof layered - 1);
	ck_assert_int_eq(read_words(&configuration, WORDS("-c", "x.ini", "-k", "folded:output=mine"), NULL), 0);
	ck_assert_ptr_null(configuration.output);
	ck_assert_str_eq(value_of(&configuration.sinks.items[0], "output"), "mine");
	expect_refusal(WORDS("-c", "x.ini", "-k", "csv:output=mine"),
		       "output (x.ini:5) with 2 sinks (set output= for each sink instead)");
	/* The other way round: -o before the file's output key of the sink. */
	CLEANUP(configuration_free) struct configuration other = { 0 };
	write_file("x.ini", "[sink:csv]\noutput=a\n", 20);
	ck_assert_int_eq(read_words(&other, WORDS("-c", "x.ini", "-o", "mine"), NULL), 0);
	ck_assert_str_eq(other.output, "mine");
	ck_assert_int_eq(unlink("x.ini"), 0);
}

TEST(checks_also_what_is_overridden)
{
	write_file("x.ini", "[iaprof]\npid = x\n", 17);
	expect_refusal(WORDS("-c", "x.ini", "-p", "8"), "x.ini:2: pid: 'x' is not a process ID (1 to 4194304)");
	ck_assert_int_eq(unlink("x.ini"), 0);
}

TEST(reads_options_of_sources)
{
	const struct {
		const char *const *words;
		const char *key, *value;
	} cases[] = {
		{ WORDS("--sample-every=4"), "sample-every", "4" },
		{ WORDS("--sample-every", "4", "-q"), "sample-every", "4" },
		{ WORDS("--lane", "0xff"), "lane-mask", "0xff" },
		{ WORDS("--lane-mask=1", "--lane-mask=2"), "lane-mask", "2" },
		{ WORDS("--lane-mask="), "lane-mask", "" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		CLEANUP(configuration_free) struct configuration configuration = { 0 };
		struct error error = { 0 };
		ck_assert_msg(read_words(&configuration, cases[i].words, &error) == 0, "%s", error.text);
		ck_assert_uint_eq(configuration.source_settings.count, 1);
		ck_assert_str_eq(configuration.source_settings.items[0].key, cases[i].key);
		ck_assert_str_eq(configuration.source_settings.items[0].value, cases[i].value);
		ck_assert_ptr_null(configuration.command);
	}
	const struct {
		const char *const *words;
		const char *message;
	} bad[] = {
		{ WORDS("--sample", "4"), "unknown option --sample: see iaprof --help all" },
		{ WORDS("--sample-every"), "--sample-every needs a value" },
		{ WORDS("--list=x"), "--list does not take a value" },
	};
	for (size_t i = 0; i < COUNT(bad); i++) {
		CLEANUP(configuration_free) struct configuration configuration = { 0 };
		struct error error = { 0 };
		ck_assert_int_eq(read_words(&configuration, bad[i].words, &error), -EINVAL);
		ck_assert_str_eq(error.text, bad[i].message);
	}
}

int main(void)
{
	return run_all_tests(0, make_folder, remove_folder);
}
