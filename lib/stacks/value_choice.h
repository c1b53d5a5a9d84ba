/* SPDX-License-Identifier: Apache-2.0 */
/* Selects value types by name, and the default value type. */
#pragma once

#include <stdint.h>
#include <iaprof/host.h>
#include <iaprof/profile.h>

#include "text/text.h"

#define VALUE_TYPE_NONE UINT32_MAX

/*
 * Appends the label of a value type: its name, with its unit if another one has the same name ("cpu-count"),
 * suitable as part of a file name.
 */
void value_type_append_label(struct text *text, const struct iaprof_profile *profile, uint32_t value_type);

/* Returns a larger number for roles that sinks show first: the time of a device, its samples, others, idle time. */
int value_role_preference(uint32_t role);
#define VALUE_ROLE_PREFERENCES 4 /* their number, from 0 on */

/*
 * Returns the default: the time of a device, its samples, or else the first with values; in a difference, the first of
 * these that both runs have. VALUE_TYPE_NONE if none has values.
 */
uint32_t value_type_best(const struct iaprof_profile *profile);

/*
 * Returns the value type with this label or name, or VALUE_TYPE_NONE after host->fail(), which lists the value types.
 */
uint32_t value_type_find(const struct iaprof_host *host, const struct iaprof_profile *profile, const char *wanted);
