/* SPDX-License-Identifier: Apache-2.0 */
/* Describes an option table for --help, 80 columns wide. The completions and a test of the manual read this text. */
#include "config/option_table.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "config/option_value.h"
#include "config/run_options.h"
#include "config/value.h"
#include "config/wrapped_text.h"
#include "text/printable.h"

#define NAME_SIZE 80    /* longest name, including its decoration */
#define USAGE_COLUMN 30 /* for options of iaprof itself */
#define HELP_COLUMN 24

/* Writes the placeholder after the '='. */
static void write_placeholder(const struct iaprof_option *option, FILE *file)
{
	static const char *const placeholders[] = {
		[IAPROF_OPTION_BOOL] = "yes|no", [IAPROF_OPTION_DURATION] = "TIME", [IAPROF_OPTION_SIZE] = "SIZE",
		[IAPROF_OPTION_STRING] = "TEXT", [IAPROF_OPTION_UINT] = "NUMBER",   [IAPROF_OPTION_DOUBLE] = "NUMBER",
		[IAPROF_OPTION_CHOICE] = "",
	};
	fputs(placeholders[option->type], file);
	for (size_t i = 0; option->type == IAPROF_OPTION_CHOICE && option->choices[i]; i++)
		fprintf(file, "%s%s", i ? "|" : "", option->choices[i]);
}

/* Writes the default in the syntax of the command line, with the unit of a plain number. */
static void write_default(const struct iaprof_option *option, FILE *file)
{
	const char *text = option->default_value;
	bool yes = false;
	if (option->type == IAPROF_OPTION_BOOL) {
		if (text)
			value_parse_bool(text, &yes);
		text = yes ? "yes" : "no";
	} else if (option->type == IAPROF_OPTION_CHOICE && !text) {
		text = option->choices[0];
	}
	fputs(text ? text : "none", file);
	if (text && option->unit && (option->type == IAPROF_OPTION_UINT || option->type == IAPROF_OPTION_DOUBLE))
		fprintf(file, " %s", option->unit);
}

/* Writes a sentence with a full stop, and its first word capitalized, unless it is one like "eBPF". */
static void write_sentence(const char *text, FILE *file)
{
	size_t length = strlen(text);
	bool is_word = islower((unsigned char)text[0]) && !isupper((unsigned char)text[1]);
	fputc(is_word ? toupper((unsigned char)text[0]) : text[0], file);
	fprintf(file, "%s%s", text + 1, text[length - 1] == '.' ? "" : ".");
}

/* Returns text, and the range and default of an option, on one line, which the caller frees; NULL: out of memory. */
static char *describe_option(const struct iaprof_option *option, const char *description, bool has_default)
{
	char *text = NULL;
	size_t size;
	char range[128];
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	write_sentence(description, file);
	option_format_range(option, range, sizeof range);
	if (range[0])
		fprintf(file, " Range: %s.", range);
	if (option->type == IAPROF_OPTION_DURATION && option->unit)
		fprintf(file, " Without a unit: %s.", option->unit);
	if (has_default) {
		fputs(" Default: ", file);
		write_default(option, file);
		fputc('.', file);
	}
	if (fclose(file) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/*
 * Writes an option. left: its syntax up to the placeholder of the value; placeholder: NULL for that of the option;
 * right: its description, NULL: out of memory. All of it is made printable: texts may be those of a plugin.
 */
static void write_described(const struct iaprof_option *option, const char *left, const char *placeholder, char *right,
			    size_t first_column, FILE *file)
{
	char *text CLEANUP_FREE = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	if (!memory)
		return;
	fputs(left, memory);
	if (placeholder)
		fputs(placeholder, memory);
	else
		write_placeholder(option, memory);
	if (fclose(memory) != 0 || !right)
		return;
	text_make_printable(text);
	text_make_printable(right);
	fputs(text, file);
	/* A long name has its own line. */
	bool own_line = size + 2 > first_column;
	if (own_line)
		fputc('\n', file);
	wrapped_text_write(right, first_column, own_line ? 0 : size, WRAPPED_TEXT_WIDTH, file);
}

void option_table_describe(const struct option_table *table, FILE *file)
{
	for (size_t i = 0; i < table->count; i++) {
		struct iaprof_option option = option_at(table, i);
		char left[NAME_SIZE];
		char *right CLEANUP_FREE = describe_option(&option, option.help, true);
		snprintf(left, sizeof left, "  %s=", option.name);
		write_described(&option, left, NULL, right, HELP_COLUMN, file);
	}
}

void option_describe_alias(const struct iaprof_option *option, const char *plugin, FILE *file)
{
	char left[NAME_SIZE];
	char *what CLEANUP_FREE = describe_option(option, option->help, true);
	char *right CLEANUP_FREE = what ? format_new("%s Sets key %s of source %s.", what, option->name, plugin) : NULL;
	snprintf(left, sizeof left, "      --%s ", option->alias);
	write_described(option, left, NULL, right, USAGE_COLUMN, file);
}

void run_option_describe(const struct run_option *option, FILE *file)
{
	static const struct iaprof_option none;
	bool is_choice = run_option_is_choice(option), has_value = run_option_has_value(option);
	/* The value of a key that a flag sets is none of the command line. */
	const struct iaprof_option *key = has_value ? &option->key : &none;
	char left[NAME_SIZE], letter[] = { '-', option->letter, ',', '\0' };
	char *right CLEANUP_FREE = describe_option(key, option->text, is_choice || key->default_value);
	snprintf(left, sizeof left, "  %-3s --%s%s", option->letter ? letter : "", option->name, has_value ? " " : "");
	write_described(key, left, is_choice ? NULL : has_value ? option->argument : "", right, USAGE_COLUMN, file);
}
