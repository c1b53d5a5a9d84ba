/* SPDX-License-Identifier: Apache-2.0 */
/* What value types are called in sentences and headings. */
#pragma once

#include <stdbool.h>
#include <string.h>
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

/* Returns whether values are how long threads waited for something other than a CPU. */
static inline bool value_type_is_wait(const struct iaprof_value_type *type)
{
	return !strcmp(type->name, "off-cpu");
}

/* Returns the role that the name and unit of a value type imply: CPU samples have those that pprof uses. */
static inline uint32_t value_role_of_name(const char *name, const char *unit)
{
	return !strcmp(name, "cpu") && !strcmp(unit, "nanoseconds") ? IAPROF_VALUE_CPU_TIME : IAPROF_VALUE_UNKNOWN;
}

/* Returns the kind of device that the name of a value type implies, for sources that do not state it. */
static inline uint32_t device_kind_of_name(const char *name)
{
	return !strncmp(name, "gpu-", 4)   ? IAPROF_DEVICE_GPU
	       : !strncmp(name, "npu-", 4) ? IAPROF_DEVICE_NPU
					   : IAPROF_DEVICE_UNKNOWN;
}

/* Returns "GPU", "NPU" or "device". */
const char *device_kind_word(uint32_t kind);

/* Returns the kind of all devices that values were measured on; IAPROF_DEVICE_UNKNOWN if there are several or none. */
uint32_t device_kind_of_profile(const struct iaprof_profile *profile);

/* Appends the label: "CPU time", "GPU time (estimated)", "GPU samples"; the name if the role is another one. */
void value_type_append_words(struct text *text, const struct iaprof_value_type *type);

/* Appends the label and what one sample is taken of, if that is known: "GPU samples (EU-time)". */
void value_type_append_title(struct text *text, const struct iaprof_value_type *type);

/* Likewise for one of the profile's value types, with its name or unit if another one has the same label. */
void value_type_append_own_title(struct text *text, const struct iaprof_profile *profile, uint32_t value_type);
