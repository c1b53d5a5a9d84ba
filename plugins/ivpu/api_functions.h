/* SPDX-License-Identifier: Apache-2.0 */
/* The Level Zero functions that are traced, and the libraries that contain them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

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
