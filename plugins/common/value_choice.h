/* SPDX-License-Identifier: Apache-2.0 */
/* Value types by the names that a user gives them, and which one is shown when only one can be. */
#ifndef IAPROF_PLUGINS_COMMON_VALUE_CHOICE_H
#define IAPROF_PLUGINS_COMMON_VALUE_CHOICE_H

#include <stdint.h>
#include <iaprof/host.h>
#include <iaprof/profile.h>

#include "common/text.h"

#define VALUE_TYPE_NONE UINT32_MAX

/*
 * Appends what a value type is called, and a NUL: its name, with its unit when another one has the same name
 * ("cpu-count"), fit to be a part of a file's name.
 */
void value_type_append_label(struct text *text, const struct iaprof_profile *profile, uint32_t value_type);

/* A device's, for that is what other tools do not have, else the first one with values; VALUE_TYPE_NONE: none has any.
 */
uint32_t value_type_best(const struct iaprof_profile *profile);

/* The one of this label or name; VALUE_TYPE_NONE after host->fail(), which says what there is. */
uint32_t value_type_find(const struct iaprof_host *host, const struct iaprof_profile *profile, const char *wanted);

#endif
