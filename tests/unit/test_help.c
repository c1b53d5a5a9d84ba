/* SPDX-License-Identifier: Apache-2.0 */
/* The help texts: every option is in them, nothing else is, and lines fit a terminal. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/configuration.h"
#include "config/build_paths.h"
#include "config/help.h"
#include "../run_suite.h"

static void write_iaprof(const void *context, FILE *file)
{
	help_write(NULL, 0, file);
}

static void write_plugin(const void *context, FILE *file)
{
	help_write_plugin(context, NULL, 205, file);
}

/* The text that write() writes; the caller frees it. */
static char *text_of(void (*write)(const void *context, FILE *file), const void *context)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(file);
	write(context, file);
	ck_assert_int_eq(fclose(file), 0);
	return text;
}

static void write_common(const void *context, FILE *file)
{
	help_write_common(file);
}

TEST(fits_80_columns)
{
	char *all CLEANUP_FREE = text_of(write_iaprof, NULL), *common CLEANUP_FREE = text_of(write_common, NULL);
	char *rest = all;
	for (char *line; (line = strsep(&rest, "\n"));)
		ck_assert_msg(strlen(line) <= 80, "%s", line);
	size_t lines = 0;
	rest = common;
	for (char *line; (line = strsep(&rest, "\n")); lines++)
		ck_assert_msg(strlen(line) < 80, "%s", line);
	/* The prompt follows on the screen. */
	ck_assert_uint_le(lines, 24);
}

/* Options of the short help are in the long one, and uses of it are command lines. */
TEST(common_uses_are_command_lines)
{
	char *all CLEANUP_FREE = text_of(write_iaprof, NULL), *common CLEANUP_FREE = text_of(write_common, NULL);
	size_t uses = 0;
	char *rest = common;
	for (char *line; (line = strsep(&rest, "\n"));) {
		char *words[16];
		int count = 0;
		char *end = strncmp(line, "  iaprof ", 9) ? NULL : strstr(line + 9, "  ");
		if (!end)
			continue;
		*end = '\0';
		for (char *word; (word = strsep(&line, " ")) && count < 15;)
			if (*word)
				words[count++] = word;
		words[count] = NULL;
		CLEANUP(configuration_free) struct configuration configuration = { 0 };
		struct error error = { 0 };
		ck_assert_msg(!configuration_read(&configuration, count, words, NULL, &error), "%s", error.text);
		uses++;
	}
	ck_assert_uint_eq(uses, 5);
	ck_assert_ptr_nonnull(strstr(all, "--scope auto|system|command"));
}

TEST(lists_plugins_with_wrapped_descriptions)
{
	struct iaprof_plugin own = { .name = "csv", .version = IAPROF_VERSION, .description = "rows" };
	struct iaprof_plugin other = {
		.name = "a-name-that-is-long",
		.version = "9.9",
		.description = "a description that is longer than what is left of the line, twice as long in fact",
	};
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	help_write_list_heading(IAPROF_PLUGIN_SINK, file);
	help_write_list_item(&own, file);
	help_write_list_item(&other, file);
	fclose(file);
	ck_assert_str_eq(text, "\nSinks, for --sink:\n"
			       "  csv             rows\n"
			       "  a-name-that-is-long  a description that is longer than what is left of the\n"
			       "                       line, twice as long in fact (version 9.9)\n");
	free(text);
}

/* Every --word of the help is known to the parser, and every option that is promised is in the help. */
TEST(names_the_options_that_there_are)
{
	static const char *const wanted[] = { "config", "source",  "sink",    "duration", "interval", "pid",
					      "scope",  "output",  "record",  "replay",   "list",     "help",
					      "check",  "version", "verbose", "quiet",    NULL };
	char *text CLEANUP_FREE = text_of(write_iaprof, NULL);
	size_t found = 0;

	for (const char *at = text; (at = strstr(at, " --")); at += 3) {
		size_t length = strspn(at + 3, "abcdefghijklmnopqrstuvwxyz");
		char word[64];
		if (length == 0)
			continue;
		snprintf(word, sizeof word, "--%.*s", (int)length, at + 3);
		CLEANUP(configuration_free) struct configuration configuration = { 0 };
		struct error error = { 0 };
		char *arguments[] = { (char *)"iaprof", word, (char *)"1", NULL };
		configuration_read(&configuration, 3, arguments, NULL, &error);
		ck_assert_msg(!strstr(error.text, "unknown option"), "%s", error.text);
		found++;
	}
	ck_assert_uint_ge(found, 16);
	for (size_t i = 0; wanted[i]; i++) {
		char line_form[64];
		snprintf(line_form, sizeof line_form, " --%s", wanted[i]);
		ck_assert_msg(strstr(text, line_form), "no%s", line_form);
	}
}

static const struct iaprof_option options[] = {
	{ .name = "rows", .type = IAPROF_OPTION_STRING, .help = "what a row is" },
};

static struct iaprof_plugin plugin_of(uint32_t kind)
{
	return (struct iaprof_plugin){ .kind = kind,
				       .option_size = sizeof *options,
				       .name = "csv",
				       .version = "1.2",
				       .description = "rows for a spreadsheet",
				       .options = options,
				       .option_count = 1 };
}

TEST(describes_a_source)
{
	struct iaprof_plugin plugin = plugin_of(IAPROF_PLUGIN_SOURCE);
	char *text CLEANUP_FREE = text_of(write_plugin, &plugin);
	ck_assert_str_eq(text, "csv 1.2 (source): rows for a spreadsheet\n"
			       "\n"
			       "Usage: iaprof --source csv[:KEY=VALUE[,KEY=VALUE]...]\n"
			       "   or, in an INI file for --config:\n"
			       "       [source:csv]\n"
			       "       KEY = VALUE\n"
			       "\n"
			       "Every source also has the keys isolate and optional (yes|no), see iaprof(1).\n"
			       "\n"
			       "Keys:\n"
			       "  rows=TEXT             What a row is. Default: none.\n");
}

TEST(adds_the_output_of_a_sink)
{
	struct iaprof_plugin plugin = plugin_of(IAPROF_PLUGIN_SINK);
	char *text CLEANUP_FREE = text_of(write_plugin, &plugin);
	ck_assert_ptr_nonnull(strstr(text, "Usage: iaprof --sink csv"));
	ck_assert_ptr_nonnull(strstr(text, "\n  output=TEXT "));
	ck_assert_ptr_nonnull(strstr(text, "\n  rows=TEXT "));

	plugin.flags = IAPROF_PLUGIN_NO_OUTPUT;
	plugin.option_count = 0;
	plugin.version = NULL;
	char *bare CLEANUP_FREE = text_of(write_plugin, &plugin);
	ck_assert_ptr_null(strstr(bare, "output="));
	ck_assert_ptr_nonnull(strstr(bare, "csv (sink): rows"));
	ck_assert_ptr_nonnull(strstr(bare, "\nNo keys.\n"));
}

TEST(describes_a_decoder)
{
	struct iaprof_plugin plugin = plugin_of(IAPROF_PLUGIN_DECODER);
	plugin.option_count = 0;
	char *text CLEANUP_FREE = text_of(write_plugin, &plugin);
	ck_assert_str_eq(text, "csv 1.2 (decoder): rows for a spreadsheet\n"
			       "\n"
			       "Selected automatically for device code of ELF machine 205.\n"
			       "\n"
			       "Usage: iaprof --decoder csv[:KEY=VALUE[,KEY=VALUE]...]\n"
			       "   or, in an INI file for --config:\n"
			       "       [decoder:csv]\n"
			       "       KEY = VALUE\n"
			       "\n"
			       "No keys.\n");
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
