/* SPDX-License-Identifier: Apache-2.0 */
/* What a page says of the earlier run of a difference, apart from its values: members of the JSON of page_data.h. */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_PAGE_DIFFERENCE_H
#define IAPROF_PLUGINS_FLAMEGRAPH_PAGE_DIFFERENCE_H

#include <iaprof/profile.h>

#include "common/text.h"

/* Appends ',"difference":{...}' with the factors of the first types value types. */
void page_difference_append(struct text *text, const struct iaprof_profile *profile, uint32_t types);

/* Appends what the earlier run lost for the same reason: ',"before":NUMBER,"beforeUnknown":NUMBER'. */
void page_difference_append_lost(struct text *text, const struct iaprof_lost *lost);

#endif
