/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_function.h. */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>
#include "families.h"
#include "trace_function.h"

/* Some of the record's functions are for "[boot]" and its like. */
#define FUNCTIONS_MAX (CALL_FUNCTIONS_MAX - 16)
#define OTHER_FUNCTIONS "[other functions]"

static int compare(const void *left, const void *right)
{
	const struct trace_function *one = left, *other = right;
	return strcmp(one->name, other->name);
}

struct trace_function *trace_function_get(struct trace_calls *calls, const char *name, uint64_t time)
{
	struct trace_function wanted;
	snprintf(wanted.name, sizeof wanted.name, "%s", name);
	struct trace_function *const *found = tfind(&wanted, &calls->index, compare);
	if (found)
		return *found;
	bool is_full = calls->function_count >= FUNCTIONS_MAX;
	if (is_full && strcmp(name, OTHER_FUNCTIONS) != 0)
		return trace_function_get(calls, OTHER_FUNCTIONS, time);
	struct trace_function *function = calloc(1, sizeof *function);
	if (!function)
		return NULL;
	memcpy(function->name, wanted.name, sizeof function->name);
	call_name_shorten(name, function->short_name, sizeof function->short_name);
	function->known = ivpu_function_find(name);
	function->callers = callers_find(function->short_name);
	function->entry = call_entry_find(function->short_name);
	function->id = call_records_function(&calls->records, name, ivpu_family_name(function->known->family),
					     is_full ? IAPROF_CALL_CONTEXT : IAPROF_CALL_FUNCTION, time);
	if (!function->id || !tsearch(function, &calls->index, compare)) {
		free(function);
		return NULL;
	}
	calls->functions[calls->function_count++] = function;
	return function;
}
