/* SPDX-License-Identifier: Apache-2.0 */
/* The value of one option: how it is stored, written and checked. For option_table.c and option_help.c. */
#ifndef IAPROF_CORE_CONFIG_OPTION_VALUE_H
#define IAPROF_CORE_CONFIG_OPTION_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/option.h>
#include "base/error.h"
#include "config/option_table.h"

/* The member of the instance that a type is stored in; size 0 for an unknown type. */
struct option_layout {
	size_t size;
	size_t alignment;
};
struct option_layout option_layout(uint32_t type);

/* A value on its way into the instance; each member lies where option_layout() says, at the union's start. */
union option_value {
	bool yes;
	uint64_t number;
	double decimal;
	char *text;
};

/* A row as this core knows it, whatever the size of the plugin's own struct is. */
struct iaprof_option option_at(const struct option_table *table, size_t index);

static inline void *option_value_at(const struct iaprof_option *option, void *instance)
{
	return (char *)instance + option->offset;
}

/* Text to value, form and range checked; a string is not duplicated. -EINVAL form, -ERANGE range. */
int option_parse_value(const struct iaprof_option *option, const char *text, union option_value *value);
/* Says why option_parse_value() refused text with code. Returns -EINVAL, or -ENOMEM as it is. */
int option_explain_refusal(const struct iaprof_option *option, const char *text, int code, struct error *error);
/* Parses, and stores in the instance. */
int option_store_value(const struct iaprof_option *option, void *instance, const char *text, struct error *error);

/* "1 to 10000 Hz", "at least 10ms"; empty when the option has no bounds. */
void option_format_range(const struct iaprof_option *option, char *text, size_t size);
void option_join_choices(const struct iaprof_option *option, const char *separator, char *text, size_t size);

#endif
