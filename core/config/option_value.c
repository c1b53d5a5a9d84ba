/* SPDX-License-Identifier: Apache-2.0 */
/* The value of one option: see option_value.h. */
#include "config/option_value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/value.h"

/* Storage and syntax of each type; that of a choice is followed by the choices. */
static const struct option_type {
	struct option_layout layout;
	const char *form;
} option_types[] = {
	[IAPROF_OPTION_BOOL] = { { sizeof(bool), alignof(bool) }, "yes or no" },
	[IAPROF_OPTION_UINT] = { { sizeof(uint64_t), alignof(uint64_t) }, "a whole number" },
	[IAPROF_OPTION_DOUBLE] = { { sizeof(double), alignof(double) }, "a number" },
	[IAPROF_OPTION_DURATION] = { { sizeof(uint64_t), alignof(uint64_t) },
				     "a time such as 30s (ns, us, ms, s, m, h)" },
	[IAPROF_OPTION_SIZE] = { { sizeof(uint64_t), alignof(uint64_t) },
				 "a size such as 64MiB (B, KiB, MiB, GiB, kB, MB, GB)" },
	[IAPROF_OPTION_STRING] = { { sizeof(char *), alignof(char *) }, "" },
	[IAPROF_OPTION_CHOICE] = { { sizeof(uint64_t), alignof(uint64_t) }, "one of " },
};

struct option_layout option_layout(uint32_t type)
{
	bool is_known = type < sizeof option_types / sizeof *option_types && option_types[type].form;
	return is_known ? option_types[type].layout : (struct option_layout){ 0, 1 };
}

struct iaprof_option option_at(const struct option_table *table, size_t index)
{
	struct iaprof_option option = { 0 };
	size_t size = table->option_size < sizeof option ? table->option_size : sizeof option;
	memcpy(&option, (const char *)table->options + index * table->option_size, size);
	return option;
}

static void format_bound(const struct iaprof_option *option, uint64_t bound, char *text, size_t size)
{
	if (option->type == IAPROF_OPTION_DURATION)
		value_format_duration(bound, text, size);
	else if (option->type == IAPROF_OPTION_SIZE)
		value_format_size(bound, text, size);
	else
		snprintf(text, size, "%" PRIu64, bound);
}

void option_format_range(const struct iaprof_option *option, char *text, size_t size)
{
	char minimum[48], maximum[48];
	bool is_plain = option->type == IAPROF_OPTION_UINT || option->type == IAPROF_OPTION_DOUBLE;
	const char *unit = is_plain && option->unit ? option->unit : "";
	const char *blank = *unit ? " " : "";

	text[0] = '\0';
	if (option->type == IAPROF_OPTION_BOOL || option->type == IAPROF_OPTION_STRING ||
	    option->type == IAPROF_OPTION_CHOICE)
		return;
	format_bound(option, option->minimum, minimum, sizeof minimum);
	format_bound(option, option->maximum, maximum, sizeof maximum);
	if (option->maximum)
		snprintf(text, size, "%s to %s%s%s", minimum, maximum, blank, unit);
	else if (option->minimum)
		snprintf(text, size, "at least %s%s%s", minimum, blank, unit);
}

/* Describes the syntax of an option's value, for error messages. */
static void format_form(const struct iaprof_option *option, char *text, size_t size)
{
	size_t length = (size_t)snprintf(text, size, "%s", option_types[option->type].form);
	for (size_t i = 0; option->type == IAPROF_OPTION_CHOICE && option->choices[i] && length < size; i++)
		length += (size_t)snprintf(text + length, size - length, "%s%s", i ? ", " : "", option->choices[i]);
}

static int parse_choice(const struct iaprof_option *option, const char *text, uint64_t *index)
{
	for (uint64_t i = 0; option->choices[i]; i++) {
		if (strcmp(text, option->choices[i]) == 0) {
			*index = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* value is not NaN. The bounds are integers, which are rounded to the nearest double. */
static bool double_is_in_range(const struct iaprof_option *option, double value)
{
	return value >= (double)option->minimum && (!option->maximum || value <= (double)option->maximum);
}

static bool number_is_in_range(const struct iaprof_option *option, uint64_t value)
{
	return value >= option->minimum && (!option->maximum || value <= option->maximum);
}

int option_parse_value(const struct iaprof_option *option, const char *text, union option_value *value)
{
	int result = 0;
	switch (option->type) {
	case IAPROF_OPTION_BOOL:
		return value_parse_bool(text, &value->yes);
	case IAPROF_OPTION_STRING:
		value->text = (char *)text;
		return 0;
	case IAPROF_OPTION_CHOICE:
		return parse_choice(option, text, &value->number);
	case IAPROF_OPTION_DOUBLE:
		result = value_parse_double(text, &value->decimal);
		if (result == 0 && !double_is_in_range(option, value->decimal))
			result = -ERANGE;
		return result;
	case IAPROF_OPTION_DURATION:
		result = value_parse_duration_in(text, option->unit, &value->number);
		break;
	case IAPROF_OPTION_SIZE:
		result = value_parse_size(text, &value->number);
		break;
	default:
		result = value_parse_uint(text, &value->number);
		break;
	}
	if (result == 0 && !number_is_in_range(option, value->number))
		result = -ERANGE;
	return result;
}

/* Returns whether text is a number that is too large for any range. Fractions that are rounded to 0 are too small. */
static bool is_overflow(const struct iaprof_option *option, const char *text)
{
	struct iaprof_option unlimited = *option;
	union option_value ignored;

	unlimited.minimum = unlimited.maximum = 0;
	return text[strspn(text, "0")] != '.' && option_parse_value(&unlimited, text, &ignored) == -ERANGE;
}

int option_explain_refusal(const struct iaprof_option *option, const char *text, int code, struct error *error)
{
	char words[1024];
	struct value_excerpt excerpt = value_excerpt(text);

	if (code == -ENOMEM)
		return error_set(error, ENOMEM, "%s: out of memory", option->name);
	if (code == -ERANGE) {
		option_format_range(option, words, sizeof words);
		if (words[0] && (option->maximum || !is_overflow(option, text)))
			return error_set(error, EINVAL, "%s: %s is out of range (%s)", option->name, excerpt.text,
					 words);
		return error_set(error, EINVAL, "%s: %s is out of range: it does not fit into 64 bits", option->name,
				 excerpt.text);
	}
	format_form(option, words, sizeof words);
	const char *nearest = option->type == IAPROF_OPTION_CHOICE ? value_nearest_name(text, option->choices) : NULL;
	return error_set(error, EINVAL, "%s: '%s' is not %s%s%s%s", option->name, excerpt.text, words,
			 nearest ? ": did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

int option_store_value(const struct iaprof_option *option, void *instance, const char *text, struct error *error)
{
	union option_value value = { 0 };
	void *place = option_value_at(option, instance);
	int result = option_parse_value(option, text, &value);

	if (result < 0)
		return option_explain_refusal(option, text, result, error);
	if (option->type == IAPROF_OPTION_STRING) {
		value.text = strdup(text);
		if (!value.text)
			return error_set(error, ENOMEM, "%s: out of memory", option->name);
		free(*(char **)place);
	}
	memcpy(place, &value, option_layout(option->type).size);
	return 0;
}
