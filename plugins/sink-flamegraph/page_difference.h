/* SPDX-License-Identifier: Apache-2.0 */
/* Data of the earlier run of a difference, apart from its values, as members of the JSON of page_data.h. */
#pragma once

#include <iaprof/profile.h>

#include "text/text.h"

/* Appends ',"difference":{...}' with the factors of the first types value types. */
void page_difference_append(struct text *text, const struct iaprof_profile *profile, uint32_t types);

/* Appends the losses of the earlier run for the same reason: ',"before":NUMBER,"beforeUnknown":NUMBER'. */
void page_difference_append_lost(struct text *text, const struct iaprof_lost *lost);
