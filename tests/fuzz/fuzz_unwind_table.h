/* SPDX-License-Identifier: Apache-2.0 */
/* For targets that accept unwind tables. */
#pragma once

#include <stdlib.h>
#include "symbolizer/unwind/unwind_table.h"

/* A table that was accepted can be searched: its first 64 pages, at steps that share no factor with their size. */
static inline void search_table(const struct unwind_table *table)
{
	for (size_t page = 0; page + 1 < table->index.count && page < 64; page++)
		for (uint64_t offset = 0; offset < IAPROF_UNWIND_PAGE_SIZE; offset += 61)
			if (!unwind_table_find(table, ((table->first_page + page) << IAPROF_UNWIND_PAGE_BITS) + offset))
				abort();
}
