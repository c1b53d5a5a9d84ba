/* SPDX-License-Identifier: Apache-2.0 */
/* The part of config/option_table.h that the test host needs, while the core has no option table. */
#include "config/option_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int option_table_check(const struct option_table *table, size_t instance_size, struct error *error)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->options[i].offset >= instance_size)
			return error_set(error, EINVAL, "option %s is outside the instance", table->options[i].name);
	return 0;
}

static int store(const struct iaprof_option *option, void *instance, const char *value)
{
	void *place = (char *)instance + option->offset;
	char *end = NULL;
	switch (option->type) {
	case IAPROF_OPTION_BOOL:
		*(bool *)place = strcmp(value, "yes") == 0;
		return 0;
	case IAPROF_OPTION_STRING:
		free(*(char **)place);
		*(char **)place = strdup(value);
		return 0;
	case IAPROF_OPTION_CHOICE:
		for (size_t i = 0; option->choices[i]; i++)
			if (strcmp(option->choices[i], value) == 0) {
				*(uint64_t *)place = i;
				return 0;
			}
		return -EINVAL;
	case IAPROF_OPTION_DOUBLE:
		*(double *)place = strtod(value, &end);
		return *end ? -EINVAL : 0;
	default:
		*(uint64_t *)place = strtoull(value, &end, 0);
		if (strcmp(end, "ms") == 0)
			*(uint64_t *)place *= 1000000;
		else if (option->type == IAPROF_OPTION_DURATION)
			*(uint64_t *)place *= 1000000000;
		else if (strcmp(end, "KiB") == 0)
			*(uint64_t *)place *= 1024;
		else if (strcmp(end, "MiB") == 0)
			*(uint64_t *)place *= 1048576;
		return 0;
	}
}

int option_table_set_defaults(const struct option_table *table, void *instance, struct error *error)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->options[i].default_value &&
		    store(&table->options[i], instance, table->options[i].default_value) < 0)
			return error_set(error, EINVAL, "default of %s", table->options[i].name);
	return 0;
}

int option_table_set(const struct option_table *table, void *instance, const char *key, const char *value,
		     struct error *error)
{
	for (size_t i = 0; i < table->count; i++)
		if (strcmp(table->options[i].name, key) == 0)
			return store(&table->options[i], instance, value) < 0
				       ? error_set(error, EINVAL, "bad value of %s", key)
				       : 0;
	return error_set(error, EINVAL, "unknown option %s", key);
}

void option_table_release(const struct option_table *table, void *instance)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->options[i].type == IAPROF_OPTION_STRING)
			free(*(char **)((char *)instance + table->options[i].offset));
}
