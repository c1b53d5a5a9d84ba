/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of Level Zero that are watched, and the libraries that have them. */
#ifndef IAPROF_PLUGINS_IVPU_API_FUNCTIONS_H
#define IAPROF_PLUGINS_IVPU_API_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* Names by number, which IVPU_API_FIRST is added to. */
const char *const *api_function_names(void);
/* NULL: there are no more. */
const char *api_function_name(size_t number);
size_t api_function_count(void);

/* Where a function of graphs is in the driver's table of them (struct ivpu_graph_table); -1: it is no such function. */
int api_function_graph_member(size_t number);

/* The function that gives that table. */
#define API_GRAPH_TABLE_FUNCTION "zeDriverGetExtensionFunctionAddress"

/* Whether a file of this path can have them, by its name. */
bool api_library_is(const char *path);

#endif
