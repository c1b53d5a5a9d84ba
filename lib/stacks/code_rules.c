/* SPDX-License-Identifier: Apache-2.0 */
/* See code_rules.h. */
#include "stacks/code_rules.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/regular_file.h"
#include "text/percent_encoding.h"

struct code_rule {
	enum code_field field;
	const char *pattern; /* of fnmatch(3); in a file that was read, as is the class */
	const char *class;   /* of a kernel, or of code of libraries; NULL: none */
	bool is_library;
};

struct code_rules {
	ARRAY(struct code_rule) items;
	ARRAY(char *) files;
};

struct code_rules *code_rules_new(void)
{
	return calloc(1, sizeof(struct code_rules));
}

void code_rules_free(struct code_rules *rules)
{
	if (!rules)
		return;
	for (size_t i = 0; i < rules->files.count; i++)
		free(rules->files.items[i]);
	array_free(&rules->files);
	array_free(&rules->items);
	free(rules);
}

static bool field_find(const char *name, enum code_field *field)
{
	static const char *const names[] = {
		[CODE_FIELD_FILE] = "file", [CODE_FIELD_MODULE] = "module", [CODE_FIELD_FUNCTION] = "function"
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i])) {
			*field = (enum code_field)i;
			return true;
		}
	return false;
}

/* Returns what is left of a line without blanks around it, in place; NULL if nothing is. */
static char *rest_of(char *line)
{
	char *text = line ? text_trim(line) : NULL;
	return text && *text ? text : NULL;
}

/* Reads "FIELD PATTERN". Returns NULL, or what is wrong. */
static const char *field_read(char *line, struct code_rule *rule)
{
	const char *field = strsep(&line, " \t");
	rule->pattern = rest_of(line);
	if (!field || !rule->pattern)
		return "a field (file, module or function) and a pattern must follow";
	return field_find(field, &rule->field) ? NULL : "a field is file, module or function";
}

/*
 * Reads "library FIELD PATTERN", "own FIELD PATTERN", "code NAME: FIELD PATTERN" or "class NAME: PATTERN". Returns
 * NULL, or what is wrong.
 */
static const char *rule_read(char *line, struct code_rule *rule)
{
	const char *word = strsep(&line, " \t");
	bool is_kernel = !strcmp(word, "class"), has_name = is_kernel || !strcmp(word, "code");
	rule->is_library = !strcmp(word, "library") || !strcmp(word, "code");
	if (!has_name && !rule->is_library && strcmp(word, "own") != 0)
		return "a rule begins with library, own, code or class";
	if (has_name) {
		rule->class = rest_of(strsep(&line, ":"));
		if (!rule->class || !rest_of(line))
			return "a name, a colon and a pattern must follow";
	}
	line = rest_of(line);
	if (!is_kernel)
		return field_read(line, rule);
	rule->field = CODE_FIELD_KERNEL;
	rule->pattern = line;
	return NULL;
}

static int lines_read(struct code_rules *rules, char *text, const char *path, struct error *error)
{
	unsigned number = 0;
	for (char *line; (line = strsep(&text, "\n"));) {
		struct code_rule rule = { 0 };
		number++;
		line += strspn(line, " \t\r");
		if (!*line || *line == '#')
			continue;
		const char *wrong = rule_read(line, &rule);
		if (!wrong && rules->items.count == CODE_RULES_MAX)
			wrong = "too many rules";
		if (wrong)
			return error_set(error, EINVAL, "%s:%u: %s", path, number, wrong);
		if (!array_push(&rules->items, rule))
			return error_set(error, ENOMEM, "%s: out of memory", path);
	}
	return 0;
}

int code_rules_read(struct code_rules *rules, const char *path, struct error *error)
{
	size_t size = 0;
	int file = regular_file_open(-1, path, 0);
	if (file < 0)
		return error_set(error, file, "%s: %s", path, strerror(-file));
	CLEANUP_FREE char *text = file_read_all(file, CODE_RULES_FILE_MAX, &size);
	int failed = errno;
	close(file);
	if (!text)
		return error_set(error, failed, "%s: %s", path, strerror(failed));
	if (strlen(text) != size)
		return error_set(error, EINVAL, "%s: not a text", path);
	if (!array_push(&rules->files, text))
		return error_set(error, ENOMEM, "%s: out of memory", path);
	return lines_read(rules, STEAL_POINTER(text), path, error);
}

uint32_t code_rules_find(const struct code_rules *rules, enum code_field field, const char *text)
{
	for (size_t i = text ? rules->items.count : 0; i > 0; i--)
		if (rules->items.items[i - 1].field == field &&
		    !fnmatch(rules->items.items[i - 1].pattern, text, field == CODE_FIELD_KERNEL ? FNM_CASEFOLD : 0))
			return (uint32_t)i;
	return 0;
}

bool code_rules_is_library(const struct code_rules *rules, uint32_t number)
{
	return number && rules->items.items[number - 1].is_library;
}

const char *code_rules_class(const struct code_rules *rules, uint32_t number)
{
	return number ? rules->items.items[number - 1].class : NULL;
}
