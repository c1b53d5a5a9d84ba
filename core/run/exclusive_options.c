/* SPDX-License-Identifier: Apache-2.0 */
/* See exclusive_options.h. */
#include "run/exclusive_options.h"

#include <errno.h>
#include <libgen.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "config/option_value.h"

/*
 * Returns a string that is equal for paths of the same file or folder, which may not exist yet. The caller frees it;
 * NULL when out of memory.
 */
static char *identify(const char *path)
{
	struct stat status;
	if (!stat(path, &status))
		return format_new("%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
	CLEANUP_FREE char *parent = strdup(path), *name = strdup(path);
	if (!parent || !name)
		return NULL;
	if (stat(dirname(parent), &status))
		return strdup(path);
	return format_new("%ju:%ju/%s", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino, basename(name));
}

/* NULL is the default. */
static bool is_same_path(const char *one, const char *other)
{
	if (!one || !other)
		return !one && !other;
	CLEANUP_FREE char *identity = identify(one), *other_identity = identify(other);
	return identity && other_identity && !strcmp(identity, other_identity);
}

static int check_pair(const struct instance *one, const struct instance *other, struct error *error)
{
	const struct option_table *table = &one->plugin->options;
	for (size_t i = 0; i < table->count; i++) {
		struct iaprof_option option = option_at(table, i);
		if (!(option.flags & IAPROF_OPTION_EXCLUSIVE))
			continue;
		const char *path = *(char *const *)option_value_at(&option, one->memory);
		if (is_same_path(path, *(char *const *)option_value_at(&option, other->memory)))
			return error_set(error, EINVAL, "sink %s: sink %s of this run has the same %s: %s (set %s=)",
					 other->name, one->name, option.name, path ? path : "the default", option.name);
	}
	return 0;
}

int exclusive_options_check(struct instance *const *sinks, size_t count, struct error *error)
{
	int result = 0;
	for (size_t i = 0; !result && i < count; i++)
		for (size_t k = i + 1; !result && k < count; k++)
			if (sinks[i]->plugin == sinks[k]->plugin)
				result = check_pair(sinks[i], sinks[k], error);
	return result;
}
