/* SPDX-License-Identifier: Apache-2.0 */
/* Validates a table of graph functions, which a program may have forged. Pure; any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "ivpu_shared.h"

/*
 * Returns the number of valid functions: up to the first that is outside the mapping from start to end, or a duplicate.
 * An older driver's table is followed by other data.
 */
uint32_t graph_table_length(const struct ivpu_graph_table *table, uint64_t start, uint64_t end);

/*
 * Returns whether an ENDBR64 instruction (Intel SDM, volume 2) is at a file offset, as at the start of every indirectly
 * called function with -fcf-protection. A probe in the middle of an instruction would corrupt every program that maps
 * the file.
 */
bool graph_function_begins(int descriptor, uint64_t offset);
