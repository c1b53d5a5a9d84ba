/* SPDX-License-Identifier: Apache-2.0 */
/* What may be believed of a table of functions of graphs, which a program can have written itself. Pure; any thread. */
#ifndef IAPROF_PLUGINS_IVPU_GRAPH_TABLE_H
#define IAPROF_PLUGINS_IVPU_GRAPH_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include "ivpu_shared.h"

/*
 * How many functions of the table are believed: up to the first that is not in the mapping from start to end, or that
 * was there already. What an older version of the driver has behind its shorter table is something else.
 */
uint32_t graph_table_length(const struct ivpu_graph_table *table, uint64_t start, uint64_t end);

/*
 * Whether a function that may be called by a pointer begins at an offset of a file: there is an ENDBR64 (Intel's
 * manual, volume 2), as compilers have it with -fcf-protection. A probe in the middle of an instruction would damage
 * every program that has the file in memory.
 */
bool graph_function_begins(int descriptor, uint64_t offset);

#endif
