/* SPDX-License-Identifier: Apache-2.0 */
/* See function_report.h. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include "base/cleanup.h"
#include "driver_functions.h"
#include "function_report.h"
#include "text/text.h"

/* Names in the metadata. */
#define UNKNOWN_SHOWN 16u

/* Returns whether a function is traced, or one that has its place in another version of the driver. */
static bool has_function(const struct function_list *list, const struct ivpu_function *known)
{
	for (const char *name = known->name; name; name = ivpu_function_find(name)->alternative)
		if (function_list_find(list, name))
			return true;
	return false;
}

void function_report_unknown(const struct iaprof_host *host, const struct function_list *list)
{
	CLEANUP(text_free) struct text text = { 0 };
	uint32_t count = 0;

	for (uint32_t i = 0; i < list->count; i++)
		if (ivpu_function_find(list->functions[i].name)->family == IVPU_FAMILY_OTHER && count++ < UNKNOWN_SHOWN)
			text_append_format(&text, "%s%s", text.size ? " " : "", list->functions[i].name);
	if (count && !text.failed)
		host->metadata(host, "functions of no known family", "%" PRIu32 ": %s%s", count, text_string(&text),
			       count > UNKNOWN_SHOWN ? " ..." : "");
}

void function_report_missing(const struct iaprof_host *host, const struct function_list *list)
{
	char text[1024] = "";
	size_t length = 0;
	const struct ivpu_function *known;

	for (size_t i = 0; (known = ivpu_function_at(i)) && length < sizeof text; i++) {
		if (!(known->flags & IVPU_FUNCTION_WELL_KNOWN) || has_function(list, known))
			continue;
		int written = snprintf(text + length, sizeof text - length, "%s%s", length ? " " : "", known->name);
		length += written > 0 ? (size_t)written : 0;
	}
	if (!length)
		return;
	host->log(host, IAPROF_LOG_INFO, "driver functions that are missing or excluded by functions=: %s", text);
	host->metadata(host, "functions missing", "%s", text);
}
