/* SPDX-License-Identifier: Apache-2.0 */
/* What value types are called in sentences and headings. */
#pragma once

#include <stdbool.h>
#include <iaprof/profile.h>

#include "text/text.h"

/* Returns whether values are measured on a device. */
static inline bool value_type_is_of_device(const struct iaprof_value_type *type)
{
	return type->role == IAPROF_VALUE_DEVICE_TIME || type->role == IAPROF_VALUE_DEVICE_SAMPLES;
}

/* Returns whether a verb that follows the label is in the plural: "GPU samples wait". */
static inline bool value_type_is_plural(const struct iaprof_value_type *type)
{
	return type->role == IAPROF_VALUE_DEVICE_SAMPLES;
}

/* Returns "GPU", "NPU" or "device". */
const char *device_kind_word(uint32_t kind);

/* Appends the label: "CPU time", "GPU time (estimated)", "GPU samples"; the name if the role is another one. */
void value_type_append_words(struct text *text, const struct iaprof_value_type *type);
