/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of source files for a page, as a value of JSON: "files" of page_code.h. */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_PAGE_SOURCE_H
#define IAPROF_PLUGINS_FLAMEGRAPH_PAGE_SOURCE_H

#include "code_sources.h"
#include "name_table.h"

/* Files in the table's order; where there is no room for all, those of the greatest weight have their text. */
void page_source_append(struct text *text, const struct name_table *files, struct code_sources *sources);

#endif
