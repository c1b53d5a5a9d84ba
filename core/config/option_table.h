/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin's option table (iaprof/option.h): parse, check, store, and describe for --help. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <iaprof/option.h>
#include "base/error.h"

/* A table whose stride is the size of the plugin's struct iaprof_option. */
struct option_table {
	const struct iaprof_option *options;
	size_t count;
	size_t option_size;
};

/* Members from here on may be missing in a row. */
#define OPTION_SIZE_MINIMUM offsetof(struct iaprof_option, alias)

/* Validates a third-party table: names, types, offsets within instance_size, defaults in range. */
int option_table_check(const struct option_table *table, size_t instance_size, struct error *error);

/* Stores the defaults. Strings are duplicated into the instance; option_table_release() frees them. */
int option_table_set_defaults(const struct option_table *table, void *instance, struct error *error);
/*
 * Stores one value. -EINVAL: unknown key (reported with the nearest known one), bad syntax, out of range (reported with
 * the range).
 */
int option_table_set(const struct option_table *table, void *instance, const char *key, const char *value,
		     struct error *error);
/* Rejects an unknown key with the nearest known one, or all. additional: a key that is not in the table; NULL: none. */
int option_table_refuse_key(const struct option_table *table, const char *key, const char *additional,
			    struct error *error);
/* Finds the row with this name and copies the members that this core knows; returns false if there is none. */
bool option_table_find(const struct option_table *table, const char *name, struct iaprof_option *option);
/* The same for the row with an alias. */
bool option_table_find_alias(const struct option_table *table, const char *alias, struct iaprof_option *option);
void option_table_release(const struct option_table *table, void *instance);

/* Writes the options of a checked table for --help: name, value, description, range and default; 80 columns. */
void option_table_describe(const struct option_table *table, FILE *file);

/* The same for one option with an alias, as an option of iaprof. */
void option_describe_alias(const struct iaprof_option *option, const char *plugin, FILE *file);
