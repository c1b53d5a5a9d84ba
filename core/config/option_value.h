/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options: storage, syntax and validation. For option_table.c and option_help.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/option.h>
#include "base/error.h"
#include "config/option_table.h"

/* Size and alignment of the instance member for a type; size 0 for an unknown type. */
struct option_layout {
	size_t size;
	size_t alignment;
};
struct option_layout option_layout(uint32_t type);

/*
 * A parsed value before it is stored in the instance; every member is at the union's start, with the layout of
 * option_layout().
 */
union option_value {
	bool yes;
	uint64_t number;
	double decimal;
	char *text;
};

/* Returns a row with the members that this core knows, independent of the size of the plugin's struct. */
struct iaprof_option option_at(const struct option_table *table, size_t index);

static inline void *option_value_at(const struct iaprof_option *option, void *instance)
{
	return (char *)instance + option->offset;
}

/* Parses text and checks syntax and range; strings are not duplicated. -EINVAL: bad syntax, -ERANGE: out of range. */
int option_parse_value(const struct iaprof_option *option, const char *text, union option_value *value);
/*
 * Sets error to the reason why option_parse_value() rejected text with code. Returns -EINVAL; -ENOMEM is passed
 * through.
 */
int option_explain_refusal(const struct iaprof_option *option, const char *text, int code, struct error *error);
/* Parses a value and stores it in the instance. */
int option_store_value(const struct iaprof_option *option, void *instance, const char *text, struct error *error);

/* Formats the range: "1 to 10000 Hz", "at least 10ms"; empty if the option has no bounds. */
void option_format_range(const struct iaprof_option *option, char *text, size_t size);
