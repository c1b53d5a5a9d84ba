/* SPDX-License-Identifier: Apache-2.0 */
/* See graph_table.h. */
#include <string.h>
#include <unistd.h>
#include "graph_table.h"

uint32_t graph_table_length(const struct ivpu_graph_table *table, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < IVPU_GRAPH_FUNCTIONS; i++) {
		if (table->functions[i] < start || table->functions[i] >= end)
			return i;
		for (uint32_t j = 0; j < i; j++)
			if (table->functions[j] == table->functions[i])
				return i;
	}
	return IVPU_GRAPH_FUNCTIONS;
}

bool graph_function_begins(int descriptor, uint64_t offset)
{
	static const unsigned char wanted[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	unsigned char bytes[sizeof wanted];

	return offset <= INT64_MAX && pread(descriptor, bytes, sizeof bytes, (off_t)offset) == (ssize_t)sizeof bytes &&
	       memcmp(bytes, wanted, sizeof wanted) == 0;
}
