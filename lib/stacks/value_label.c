/* SPDX-License-Identifier: Apache-2.0 */
/* See value_label.h. */
#include "stacks/value_label.h"

#include <string.h>

const char *device_kind_word(uint32_t kind)
{
	return kind == IAPROF_DEVICE_GPU ? "GPU" : kind == IAPROF_DEVICE_NPU ? "NPU" : "device";
}

uint32_t device_kind_of_profile(const struct iaprof_profile *profile)
{
	uint32_t kind = IAPROF_DEVICE_UNKNOWN;
	for (uint32_t i = 0; i < profile->value_type_count; i++) {
		uint32_t own = iaprof_profile_value_type(profile, i)->device_kind;
		if (own && kind && own != kind)
			return IAPROF_DEVICE_UNKNOWN;
		kind = own ? own : kind;
	}
	return kind;
}

void value_type_append_words(struct text *text, const struct iaprof_value_type *type)
{
	if (type->role == IAPROF_VALUE_CPU_TIME)
		text_append_string(text, "CPU time");
	else if (value_type_is_of_device(type))
		text_append_format(text, "%s %s", device_kind_word(type->device_kind),
				   type->role == IAPROF_VALUE_DEVICE_TIME ? "time" : "samples");
	else if (type->role == IAPROF_VALUE_DEVICE_OVERLAP)
		text_append_format(text, "%s overlapped time", device_kind_word(type->device_kind));
	else if (type->role == IAPROF_VALUE_DEVICE_IDLE)
		text_append_format(text, "%s idle time", device_kind_word(type->device_kind));
	else if (type->role == IAPROF_VALUE_COPY_TIME)
		text_append_format(text, "%s copy time", device_kind_word(type->device_kind));
	else if (type->role == IAPROF_VALUE_COPIED_BYTES)
		text_append_format(text, "%s copied bytes", device_kind_word(type->device_kind));
	else if (value_type_is_wait(type))
		text_append_string(text, "waiting");
	else if (!strcmp(type->name, "runnable"))
		text_append_string(text, "waiting for a CPU");
	else if (!strcmp(type->name, "npu-time"))
		text_append_string(text, "NPU driver time");
	else if (!strcmp(type->name, "npu-calls"))
		text_append_string(text, "NPU driver calls");
	else
		text_append_name(text, type->name);
	if (type->flags & IAPROF_VALUE_ESTIMATED)
		text_append_string(text, " (estimated)");
}

void value_type_append_title(struct text *text, const struct iaprof_value_type *type)
{
	value_type_append_words(text, type);
	if (type->role == IAPROF_VALUE_DEVICE_SAMPLES && type->sample_unit) {
		text_append_string(text, " (");
		text_append_name(text, type->sample_unit);
		text_append_string(text, "-time)");
	}
}

void value_type_append_own_title(struct text *text, const struct iaprof_profile *profile, uint32_t value_type)
{
	const struct iaprof_value_type *type = iaprof_profile_value_type(profile, value_type);
	struct text own = { 0 };
	value_type_append_title(&own, type);
	text_append_string(text, text_string(&own));
	for (uint32_t i = 0; i < profile->value_type_count; i++) {
		const struct iaprof_value_type *other = iaprof_profile_value_type(profile, i);
		struct text title = { 0 };
		value_type_append_title(&title, other);
		bool is_same = i != value_type && !strcmp(text_string(&title), text_string(&own));
		text->failed |= title.failed;
		text_free(&title);
		if (!is_same)
			continue;
		text_append_string(text, " (");
		text_append_name(text, strcmp(other->name, type->name) != 0 ? type->name : type->unit);
		text_append_string(text, ")");
		break;
	}
	text->failed |= own.failed;
	text_free(&own);
}
