/* SPDX-License-Identifier: Apache-2.0 */
/* See value_label.h. */
#include "stacks/value_label.h"

#include <string.h>

const char *device_kind_word(uint32_t kind)
{
	return kind == IAPROF_DEVICE_GPU ? "GPU" : kind == IAPROF_DEVICE_NPU ? "NPU" : "device";
}

void value_type_append_words(struct text *text, const struct iaprof_value_type *type)
{
	if (type->role == IAPROF_VALUE_CPU_TIME)
		text_append_string(text, "CPU time");
	else if (value_type_is_of_device(type))
		text_append_format(text, "%s %s", device_kind_word(type->device_kind),
				   type->role == IAPROF_VALUE_DEVICE_TIME ? "time" : "samples");
	else if (type->role == IAPROF_VALUE_DEVICE_IDLE)
		text_append_format(text, "%s idle time", device_kind_word(type->device_kind));
	else if (!strcmp(type->name, "npu-time"))
		text_append_string(text, "NPU driver time");
	else if (!strcmp(type->name, "npu-calls"))
		text_append_string(text, "NPU driver calls");
	else
		text_append_name(text, type->name);
	if (type->flags & IAPROF_VALUE_ESTIMATED)
		text_append_string(text, " (estimated)");
}
