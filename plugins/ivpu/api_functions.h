/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Level Zero functions that are traced, the libraries that contain them, and the validation of a table of graph
 * functions, which a program may have forged. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ivpu_shared.h"

/* Names by function number, which is relative to IVPU_API_FIRST. */
const char *const *api_function_names(void);
/* Returns NULL after the last function. */
const char *api_function_name(size_t number);
size_t api_function_count(void);

/* Returns the index of a graph function in the driver's table (struct ivpu_graph_table), or -1 for other functions. */
int api_function_graph_member(size_t number);

/* The function that returns that table. */
#define API_GRAPH_TABLE_FUNCTION "zeDriverGetExtensionFunctionAddress"

/* Returns whether a library may contain these functions, judged by its file name. */
bool api_library_is(const char *path);

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
