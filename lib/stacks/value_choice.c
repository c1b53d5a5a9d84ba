/* SPDX-License-Identifier: Apache-2.0 */
/* See value_choice.h. */
#include "stacks/value_choice.h"

#include <errno.h>
#include <string.h>

void value_type_append_label(struct text *text, const struct iaprof_profile *profile, uint32_t value_type)
{
	const struct iaprof_value_type *type = iaprof_profile_value_type(profile, value_type);
	text_append_name(text, type->name);
	for (uint32_t i = 0; i < profile->value_type_count; i++)
		if (i != value_type && strcmp(iaprof_profile_value_type(profile, i)->name, type->name) == 0) {
			text_append_string(text, "-");
			text_append_name(text, type->unit);
			break;
		}
	for (size_t i = 0; !text->failed && i < text->size; i++)
		if (text->data[i] == '/') /* the label becomes part of a file name */
			text->data[i] = '_';
}

/* Other tools have no values of devices, and time answers more than samples do. */
int value_role_preference(uint32_t role)
{
	return role == IAPROF_VALUE_DEVICE_TIME      ? 3
	       : role == IAPROF_VALUE_DEVICE_SAMPLES ? 2
	       : role == IAPROF_VALUE_DEVICE_IDLE    ? 0
	       : role == IAPROF_VALUE_DEVICE_OVERLAP ? 0
	       : role == IAPROF_VALUE_COPY_TIME      ? 0
	       : role == IAPROF_VALUE_COPIED_BYTES   ? 0
						     : 1;
}

/* Returns whether a value type has values in both runs of a difference: others cannot be compared. */
static bool is_of_both(const struct iaprof_profile *profile, uint32_t type)
{
	bool has_before = false, has_after = false;
	for (size_t i = 0; i < profile->value_count && !(has_before && has_after); i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		has_before |= value->value_type == type && value->before;
		has_after |= value->value_type == type && value->value;
	}
	return has_before && has_after;
}

uint32_t value_type_best(const struct iaprof_profile *profile)
{
	uint32_t best = VALUE_TYPE_NONE;
	int most = -1;
	for (uint32_t type = 0; type < profile->value_type_count; type++) {
		int wanted = value_role_preference(iaprof_profile_value_type(profile, type)->role);
		bool has_values = false;
		for (size_t i = 0; i < profile->value_count && !has_values; i++)
			has_values = iaprof_profile_value(profile, i)->value_type == type;
		if (profile->flags & IAPROF_PROFILE_DIFFERENCE && is_of_both(profile, type))
			wanted += VALUE_ROLE_PREFERENCES;
		if (has_values && wanted > most) {
			best = type;
			most = wanted;
		}
	}
	return best;
}

uint32_t value_type_find(const struct iaprof_host *host, const struct iaprof_profile *profile, const char *wanted)
{
	struct text known = { 0 };
	uint32_t found = VALUE_TYPE_NONE;
	for (uint32_t i = 0; i < profile->value_type_count && found == VALUE_TYPE_NONE; i++) {
		struct text label = { 0 };
		value_type_append_label(&label, profile, i);
		if (strcmp(text_string(&label), wanted) == 0 ||
		    strcmp(iaprof_profile_value_type(profile, i)->name, wanted) == 0)
			found = i;
		text_append_format(&known, "%s%s", i ? ", " : "", text_string(&label));
		text_free(&label);
	}
	if (found == VALUE_TYPE_NONE)
		host->fail(host, EINVAL, "value=%s: no such value type (types: %s)", wanted,
			   known.size ? text_string(&known) : "none");
	text_free(&known);
	return found;
}
