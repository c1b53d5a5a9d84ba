/* SPDX-License-Identifier: Apache-2.0 */
/* See profile_facts.h. */
#include "stacks/profile_facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *profile_build_id(const struct iaprof_profile *profile, const char *path)
{
	const struct iaprof_module *found = NULL;
	for (size_t i = 0; i < profile->module_count; i++) {
		const struct iaprof_module *module = iaprof_profile_module(profile, i);
		if (strcmp(module->path, path) != 0)
			continue;
		if (found)
			return NULL;
		found = module;
	}
	return found ? found->build_id : NULL;
}

const char *lost_count_text(const struct iaprof_lost *lost, char text[LOST_COUNT_SIZE])
{
	if (lost->unknown && !lost->count)
		return "an unknown number";
	snprintf(text, LOST_COUNT_SIZE, "%" PRIu64 "%s", lost->count, lost->unknown ? " and an unknown number" : "");
	return text;
}
