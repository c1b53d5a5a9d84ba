/* SPDX-License-Identifier: Apache-2.0 */
/* Describes an option table for --help, 80 columns wide. The completions and a test of the manual read this text. */
#include "config/option_table.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/option_value.h"
#include "config/value.h"

#define LINE_WIDTH 80
#define HELP_COLUMN 24

/* What the user writes after the '='. */
static void write_placeholder(const struct iaprof_option *option, FILE *file)
{
	switch (option->type) {
	case IAPROF_OPTION_BOOL:
		fputs("yes|no", file);
		break;
	case IAPROF_OPTION_DURATION:
		fputs("TIME", file);
		break;
	case IAPROF_OPTION_SIZE:
		fputs("SIZE", file);
		break;
	case IAPROF_OPTION_STRING:
		fputs("TEXT", file);
		break;
	case IAPROF_OPTION_CHOICE:
		for (size_t i = 0; option->choices[i]; i++)
			fprintf(file, "%s%s", i ? "|" : "", option->choices[i]);
		break;
	default:
		fputs("NUMBER", file);
		break;
	}
}

/* The default as the user would write it, with the unit of a plain number. */
static void write_default(const struct iaprof_option *option, FILE *file)
{
	const char *text = option->default_value;
	bool yes = false;

	switch (option->type) {
	case IAPROF_OPTION_BOOL:
		if (text)
			value_parse_bool(text, &yes);
		fputs(yes ? "yes" : "no", file);
		break;
	case IAPROF_OPTION_CHOICE:
		fputs(text ? text : option->choices[0], file);
		break;
	case IAPROF_OPTION_UINT:
	case IAPROF_OPTION_DOUBLE:
		fputs(text ? text : "none", file);
		if (text && option->unit)
			fprintf(file, " %s", option->unit);
		break;
	default:
		fputs(text ? text : "none", file);
		break;
	}
}

/* Help, range and default as sentences on one line. NULL when out of memory; the caller frees it. */
static char *describe_option(const struct iaprof_option *option)
{
	char *text = NULL;
	size_t size;
	char range[128];
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	size_t length = strlen(option->help);
	/* Some write a sentence, some what comes after "it"; a word like "eBPF" stays as it is. */
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

/* Writes words from column HELP_COLUMN on; column is where the line stands. */
static void write_wrapped(const char *text, size_t column, FILE *file)
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
			fprintf(file, "%*s", (int)(HELP_COLUMN - column), "");
		else
			fputc(' ', file);
		column = (first ? HELP_COLUMN : column + 1) + length;
		fprintf(file, "%.*s", (int)length, text);
		first = false;
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', file);
}

void option_table_describe(const struct option_table *table, FILE *file)
{
	for (size_t i = 0; i < table->count; i++) {
		struct iaprof_option option = option_at(table, i);
		char *left CLEANUP_FREE = NULL;
		char *right CLEANUP_FREE = describe_option(&option);
		size_t size = 0;
		FILE *memory = open_memstream(&left, &size);
		if (!memory)
			return;
		fprintf(memory, "  %s=", option.name);
		write_placeholder(&option, memory);
		if (fclose(memory) != 0 || !right)
			return;
		fputs(left, file);
		/* A long name has the line for itself. */
		bool own_line = size + 2 > HELP_COLUMN;
		if (own_line)
			fputc('\n', file);
		write_wrapped(right, own_line ? 0 : size, file);
	}
}
