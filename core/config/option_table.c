/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin's option table: see option_table.h. */
#include "config/option_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/option_value.h"
#include "config/value.h"

/* Limits; a longer table or list has a wrong count or no terminator. */
#define OPTION_COUNT_MAX 256
#define CHOICE_COUNT_MAX 64
#define NAME_LENGTH_MAX 63
#define HELP_LENGTH_MAX 1000

static bool name_is_good(const char *name)
{
	size_t length = strnlen(name, NAME_LENGTH_MAX + 1);
	return length > 0 && length <= NAME_LENGTH_MAX && name[0] >= 'a' && name[0] <= 'z' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

/* Returns whether text is a single printable line. */
static bool text_is_good(const char *text)
{
	size_t length = strnlen(text, HELP_LENGTH_MAX + 1);
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return length > 0 && length <= HELP_LENGTH_MAX;
}

static int check_choices(const struct iaprof_option *option, struct error *error)
{
	size_t count = 0;
	if (!option->choices)
		return error_set(error, EINVAL, "option '%s' has no list of choices", option->name);
	for (; option->choices[count]; count++) {
		if (count == CHOICE_COUNT_MAX)
			return error_set(error, EINVAL, "option '%s' has more than %d choices", option->name,
					 CHOICE_COUNT_MAX);
		if (!text_is_good(option->choices[count]) || strlen(option->choices[count]) > NAME_LENGTH_MAX)
			return error_set(error, EINVAL,
					 "choice %zu of option '%s' is empty, too long, or has control bytes", count,
					 option->name);
		for (size_t i = 0; i < count; i++)
			if (strcmp(option->choices[i], option->choices[count]) == 0)
				return error_set(error, EINVAL, "option '%s' has the choice '%s' twice", option->name,
						 option->choices[i]);
	}
	if (count == 0)
		return error_set(error, EINVAL, "option '%s' has no choices", option->name);
	return 0;
}

/* Checks a single row. */
static int check_option(const struct iaprof_option *option, size_t index, size_t instance_size, struct error *error)
{
	if (!option->name)
		return error_set(error, EINVAL, "option %zu has no name", index);
	if (!name_is_good(option->name))
		return error_set(error, EINVAL,
				 "the name of option %zu, '%s', is not up to %d lower-case letters, digits and '-'",
				 index, value_excerpt(option->name).text, NAME_LENGTH_MAX);
	if (option_layout(option->type).size == 0)
		return error_set(error, EINVAL, "option '%s' has the unknown type %" PRIu32, option->name,
				 option->type);
	if (option->flags & ~(uint32_t)IAPROF_OPTION_EXCLUSIVE)
		return error_set(error, EINVAL, "option '%s' has the unknown flags 0x%" PRIx32, option->name,
				 option->flags);
	if (option->flags & IAPROF_OPTION_EXCLUSIVE && option->type != IAPROF_OPTION_STRING)
		return error_set(error, EINVAL, "option '%s' is exclusive, but not a STRING", option->name);
	if (option->alias && !name_is_good(option->alias))
		return error_set(error, EINVAL,
				 "the alias of option '%s' is not up to %d lower-case letters, digits and '-'",
				 option->name, NAME_LENGTH_MAX);
	if (!option->help || !text_is_good(option->help))
		return error_set(error, EINVAL, "option '%s' has no one-line help", option->name);
	if (option->unit && !text_is_good(option->unit))
		return error_set(error, EINVAL, "the unit of option '%s' is empty or has control bytes", option->name);
	struct option_layout layout = option_layout(option->type);
	if (option->offset > instance_size || instance_size - option->offset < layout.size)
		return error_set(error, EINVAL, "option '%s' is outside of the instance: offset %zu, %zu bytes of %zu",
				 option->name, option->offset, layout.size, instance_size);
	if (option->offset % layout.alignment)
		return error_set(error, EINVAL, "option '%s' is not aligned: offset %zu is not a multiple of %zu",
				 option->name, option->offset, layout.alignment);
	if (option->maximum && option->minimum > option->maximum)
		return error_set(error, EINVAL, "option '%s' has a minimum above its maximum", option->name);
	if (option->type == IAPROF_OPTION_CHOICE && check_choices(option, error) < 0)
		return -EINVAL;
	if (option->default_value && option->type == IAPROF_OPTION_STRING && !text_is_good(option->default_value))
		return error_set(error, EINVAL, "the default of option '%s' is empty or has control bytes",
				 option->name);
	union option_value value;
	int result = option->default_value ? option_parse_value(option, option->default_value, &value) : 0;
	if (result < 0) {
		option_explain_refusal(option, option->default_value, result, error);
		return error_wrap(error, "default value");
	}
	return 0;
}

/* Rejects two options with the same name or overlapping storage. */
static int check_pair(const struct iaprof_option *one, const struct iaprof_option *other, struct error *error)
{
	if (strcmp(one->name, other->name) == 0)
		return error_set(error, EINVAL, "duplicate option '%s'", one->name);
	if (one->offset < other->offset + option_layout(other->type).size &&
	    other->offset < one->offset + option_layout(one->type).size)
		return error_set(error, EINVAL, "options '%s' and '%s' overlap", one->name, other->name);
	return 0;
}

int option_table_check(const struct option_table *table, size_t instance_size, struct error *error)
{
	if (table->count == 0)
		return 0;
	if (!table->options)
		return error_set(error, EINVAL, "the option table is NULL but has %zu options", table->count);
	if (table->count > OPTION_COUNT_MAX)
		return error_set(error, EINVAL, "the option table has %zu options, more than %d", table->count,
				 OPTION_COUNT_MAX);
	if (table->option_size < OPTION_SIZE_MINIMUM || table->option_size % alignof(struct iaprof_option))
		return error_set(error, EINVAL, "an option has %zu bytes, which is not a size of struct iaprof_option",
				 table->option_size);
	for (size_t i = 0; i < table->count; i++) {
		struct iaprof_option option = option_at(table, i);
		int result = check_option(&option, i, instance_size, error);
		for (size_t j = 0; result == 0 && j < i; j++) {
			struct iaprof_option earlier = option_at(table, j);
			result = check_pair(&earlier, &option, error);
		}
		if (result < 0)
			return result;
	}
	return 0;
}

int option_table_set_defaults(const struct option_table *table, void *instance, struct error *error)
{
	for (size_t i = 0; i < table->count; i++) {
		struct iaprof_option option = option_at(table, i);
		int result =
			option.default_value ? option_store_value(&option, instance, option.default_value, error) : 0;
		if (result < 0)
			return result;
	}
	return 0;
}

int option_table_refuse_key(const struct option_table *table, const char *key, const char *additional,
			    struct error *error)
{
	size_t count = 0;
	if (table->count == 0 && !additional)
		return error_set(error, EINVAL, "unknown key '%s': the plugin has no options", value_excerpt(key).text);
	const char **names CLEANUP_FREE = calloc(table->count + 2, sizeof *names);
	if (!names)
		return error_set(error, ENOMEM, "out of memory");
	if (additional)
		names[count++] = additional;
	for (size_t i = 0; i < table->count; i++)
		names[count++] = option_at(table, i).name;
	const char *nearest = value_nearest_name(key, names);
	if (nearest)
		return error_set(error, EINVAL, "unknown key '%s': did you mean '%s'?", value_excerpt(key).text,
				 nearest);
	char known[1024];
	size_t length = 0;
	for (size_t i = 0; i < count && length < sizeof known; i++)
		length += (size_t)snprintf(known + length, sizeof known - length, "%s%s", i ? ", " : "", names[i]);
	return error_set(error, EINVAL, "unknown key '%s' (keys: %s)", value_excerpt(key).text, known);
}

bool option_table_find(const struct option_table *table, const char *name, struct iaprof_option *option)
{
	for (size_t i = 0; i < table->count; i++) {
		*option = option_at(table, i);
		if (strcmp(option->name, name) == 0)
			return true;
	}
	return false;
}

bool option_table_find_alias(const struct option_table *table, const char *alias, struct iaprof_option *option)
{
	for (size_t i = 0; i < table->count; i++) {
		*option = option_at(table, i);
		if (option->alias && strcmp(option->alias, alias) == 0)
			return true;
	}
	return false;
}

int option_table_set(const struct option_table *table, void *instance, const char *key, const char *value,
		     struct error *error)
{
	struct iaprof_option option;
	return option_table_find(table, key, &option) ? option_store_value(&option, instance, value, error)
						      : option_table_refuse_key(table, key, NULL, error);
}

void option_table_release(const struct option_table *table, void *instance)
{
	for (size_t i = 0; i < table->count; i++) {
		struct iaprof_option option = option_at(table, i);
		if (option.type != IAPROF_OPTION_STRING)
			continue;
		char **text = option_value_at(&option, instance);
		free(*text);
		*text = NULL;
	}
}
