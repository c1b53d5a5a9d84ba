/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin's option table (iaprof/option.h): parse, check, store, and describe for --help. */
#ifndef IAPROF_CORE_CONFIG_OPTION_TABLE_H
#define IAPROF_CORE_CONFIG_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <iaprof/option.h>
#include "base/error.h"

/* A table with the stride of the plugin's own struct iaprof_option. */
struct option_table {
	const struct iaprof_option *options;
	size_t count;
	size_t option_size;
};

/* Checks the table itself, which a third party wrote: names, types, offsets within instance_size, defaults in range. */
int option_table_check(const struct option_table *table, size_t instance_size, struct error *error);

/* Stores the defaults. Texts are duplicated into the instance; option_table_release() frees them. */
int option_table_set_defaults(const struct option_table *table, void *instance, struct error *error);
/* Stores one value. -EINVAL: unknown key (with the nearest known one), bad form, out of range (with the range). */
int option_table_set(const struct option_table *table, void *instance, const char *key, const char *value,
		     struct error *error);
/* The row of this name, as this core knows it; false when there is none. */
bool option_table_find(const struct option_table *table, const char *name, struct iaprof_option *option);
void option_table_release(const struct option_table *table, void *instance);

/* Writes a checked table's options for --help: name, what it takes, what it does, range and default; 80 columns. */
void option_table_describe(const struct option_table *table, FILE *file);

#endif
