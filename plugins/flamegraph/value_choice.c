/* SPDX-License-Identifier: Apache-2.0 */
/* See value_choice.h. */
#include "value_choice.h"

#include <errno.h>
#include <string.h>

#include "common/text.h"

static bool is_of_device(uint32_t kind)
{
	return kind >= IAPROF_FRAME_DEVICE_SOURCE && kind <= IAPROF_FRAME_DEVICE_OFFSET;
}

static uint32_t best_type(const struct stack_tree *tree)
{
	uint32_t types = (uint32_t)tree->profile->value_type_count, first = VALUE_TYPE_NONE;
	for (size_t node = 0; node < tree->node_count; node++) {
		for (uint32_t type = 0; type < types; type++) {
			if (!tree->values[node * types + type])
				continue;
			if (is_of_device(tree->frames[tree->nodes[node].frame]->kind))
				return type;
			if (type < first)
				first = type;
		}
	}
	return first;
}

static int refuse(const struct iaprof_host *host, const struct iaprof_profile *profile, const char *name)
{
	struct text known = { 0 };
	for (uint32_t i = 0; i < profile->value_type_count; i++) {
		text_append_string(&known, i ? ", " : "");
		text_append_name(&known, iaprof_profile_value_type(profile, i)->name);
	}
	text_append(&known, "", 1);
	int result = host->fail(host, EINVAL, "value=%s: this run has no such value type; it has: %s", name,
				known.failed || !known.data[0] ? "none" : known.data);
	text_free(&known);
	return result;
}

int value_type_choose(const struct iaprof_host *host, const struct stack_tree *tree, const char *name,
		      uint32_t *value_type)
{
	const struct iaprof_profile *profile = tree->profile;
	*value_type = VALUE_TYPE_NONE;
	if (!name) {
		*value_type = best_type(tree);
		return 0;
	}
	for (uint32_t i = 0; i < profile->value_type_count && *value_type == VALUE_TYPE_NONE; i++)
		if (strcmp(iaprof_profile_value_type(profile, i)->name, name) == 0)
			*value_type = i;
	return *value_type == VALUE_TYPE_NONE ? refuse(host, profile, name) : 0;
}
