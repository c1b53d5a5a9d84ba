/* SPDX-License-Identifier: Apache-2.0 */
/* What records of a page refer to by id: kept once, for all of its views. */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_PAGE_NAMES_H
#define IAPROF_PLUGINS_FLAMEGRAPH_PAGE_NAMES_H

#include "common/definitions.h"

/* Keeps strings, sources, devices and counters; other records are none of its business. 0 or -ENOMEM. */
int page_names_take(struct definitions *definitions, const struct iaprof_record *record);

#endif
