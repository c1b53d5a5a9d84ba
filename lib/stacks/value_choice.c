/* SPDX-License-Identifier: Apache-2.0 */
/* See value_choice.h. */
#include "stacks/value_choice.h"

#include <errno.h>
#include <stdbool.h>
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

static bool is_of_device(const struct iaprof_profile *profile, const struct iaprof_stack *stack)
{
	for (uint32_t i = 0; i < stack->frame_count; i++)
		if (iaprof_profile_frame(profile, stack->frames[i])->kind == IAPROF_FRAME_SEPARATOR)
			return true;
	return false;
}

uint32_t value_type_best(const struct iaprof_profile *profile)
{
	uint32_t first = VALUE_TYPE_NONE, first_of_device = VALUE_TYPE_NONE;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		if (value->value_type < first)
			first = value->value_type;
		if (value->value_type < first_of_device &&
		    is_of_device(profile, iaprof_profile_stack(profile, value->stack)))
			first_of_device = value->value_type;
	}
	return first_of_device == VALUE_TYPE_NONE ? first : first_of_device;
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
