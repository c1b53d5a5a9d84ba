/* SPDX-License-Identifier: Apache-2.0 */
/* Describes an option table for --help, 80 columns wide. The completions and a test of the manual read this text. */
#include "config/option_table.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "config/option_value.h"
#include "config/value.h"
#include "text/printable.h"

#define LINE_WIDTH 80
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

/* Returns help, range and default as sentences on one line, which the caller frees; NULL when out of memory. */
static char *describe_option(const struct iaprof_option *option)
{
	char *text = NULL;
	size_t size;
	char range[128];
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	size_t length = strlen(option->help);
	/* Capitalises the first word, but not one like "eBPF". */
	bool is_word = islower((unsigned char)option->help[0]) && !isupper((unsigned char)option->help[1]);
	fputc(is_word ? toupper((unsigned char)option->help[0]) : option->help[0], file);
	fprintf(file, "%s%s", option->help + 1, option->help[length - 1] == '.' ? "" : ".");
	option_format_range(option, range, sizeof range);
	if (range[0])
		fprintf(file, " Range: %s.", range);
	if (option->type == IAPROF_OPTION_DURATION && option->unit)
		fprintf(file, " Without a unit: %s.", option->unit);
	fputs(" Default: ", file);
	write_default(option, file);
	fputc('.', file);
	if (fclose(file) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* Writes text wrapped, from first_column on; column: the current one. */
static void write_wrapped(const char *text, size_t first_column, size_t column, FILE *file)
{
	bool first = true;
	while (*text) {
		size_t length = strcspn(text, " ");
		if (!first && column + 1 + length > LINE_WIDTH) {
			fputc('\n', file);
			column = 0;
			first = true;
		}
		if (first)
			fprintf(file, "%*s", (int)(first_column - column), "");
		else
			fputc(' ', file);
		column = (first ? first_column : column + 1) + length;
		fprintf(file, "%.*s", (int)length, text);
		first = false;
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', file);
}

/*
 * Writes an option, whose texts are those of a plugin. left: its syntax up to the placeholder of the value; right: its
 * description, which is made printable, NULL: out of memory.
 */
static void write_described(const struct iaprof_option *option, const char *left, char *right, size_t first_column,
			    FILE *file)
{
	char *text CLEANUP_FREE = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	if (!memory)
		return;
	fputs(left, memory);
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
	write_wrapped(right, first_column, own_line ? 0 : size, file);
}

void option_table_describe(const struct option_table *table, FILE *file)
{
	for (size_t i = 0; i < table->count; i++) {
		struct iaprof_option option = option_at(table, i);
		char left[NAME_SIZE];
		char *right CLEANUP_FREE = describe_option(&option);
		snprintf(left, sizeof left, "  %s=", option.name);
		write_described(&option, left, right, HELP_COLUMN, file);
	}
}

void option_describe_alias(const struct iaprof_option *option, const char *plugin, FILE *file)
{
	char left[NAME_SIZE];
	char *what CLEANUP_FREE = describe_option(option);
	char *right CLEANUP_FREE = what ? format_new("%s Sets key %s of source %s.", what, option->name, plugin) : NULL;
	snprintf(left, sizeof left, "      --%s ", option->alias);
	write_described(option, left, right, USAGE_COLUMN, file);
}
