/* SPDX-License-Identifier: Apache-2.0 */
/* Which value type of a profile is shown first, or alone. */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_VALUE_CHOICE_H
#define IAPROF_PLUGINS_FLAMEGRAPH_VALUE_CHOICE_H

#include <stdint.h>
#include <iaprof/host.h>

#include "stack_tree.h"

#define VALUE_TYPE_NONE UINT32_MAX

/*
 * The value type of a name; without one (NULL) a device's, for that is what other tools do not have, else the first
 * that has values; VALUE_TYPE_NONE when none has. Returns 0, or a negative errno after host->fail().
 */
int value_type_choose(const struct iaprof_host *host, const struct stack_tree *tree, const char *name,
		      uint32_t *value_type);

#endif
