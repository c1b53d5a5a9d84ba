/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npu_callers: compares what iaprof knows of the driver's functions with a call graph. Reads lines "CALLER FUNCTION",
 * or "- FUNCTION" for one that nothing in the driver calls directly, and prints what is not in the tables.
 */
#include <stdio.h>
#include <string.h>
#include "npu/call_graph.h"
#include "npu/driver_functions.h"

int main(void)
{
	char line[512], caller[128], function[128], short_caller[128], short_function[128];

	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "%127s %127s", caller, function) != 2)
			return 2;
		call_name_shorten(caller, short_caller, sizeof short_caller);
		call_name_shorten(function, short_function, sizeof short_function);
		if (ivpu_function_find(function)->family == IVPU_FAMILY_OTHER)
			printf("%s: no family\n", function);
		const char *callers = call_graph_callers(short_function);
		if (!strcmp(caller, "-") && !callers && !call_entry_find(short_function))
			printf("%s: nothing in the driver calls it directly, and it is no entry\n", function);
		else if (strcmp(caller, "-") != 0 && !call_graph_allows(callers, short_caller))
			printf("%s: %s calls it\n", function, caller);
	}
	return ferror(stdin) || fflush(stdout);
}
