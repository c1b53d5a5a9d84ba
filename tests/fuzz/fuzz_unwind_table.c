/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an ELF file with .eh_frame: the table has rows in order, and a search finds rules of its own. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "symbolizer/unwind/unwind_table.h"

static void check(const struct unwind_table *table)
{
	size_t pages = table->index.count - 1;
	if (table->index.items[0] || table->index.items[pages] != table->rows.count)
		abort();
	for (size_t page = 0; page < pages; page++) {
		uint32_t first = table->index.items[page], end = table->index.items[page + 1];
		if (end <= first || table->rows.items[first].offset)
			abort();
		for (uint32_t row = first; row < end; row++) {
			const struct iaprof_unwind_row *item = &table->rows.items[row];
			uint64_t address = ((table->first_page + page) << IAPROF_UNWIND_PAGE_BITS) + item->offset;
			if (row > first && item->offset <= item[-1].offset)
				abort();
			if (item->rule >= table->rules.count ||
			    unwind_table_find(table, address) != &table->rules.items[item->rule])
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct elf_file elf;
	struct unwind_table table;
	char *copy = malloc(size ? size : 1);
	if (!copy)
		return 0;
	memcpy(copy, bytes, size);
	if (elf_file_open_memory(&elf, copy, size))
		return 0;
	if (!unwind_table_make(&table, &elf))
		check(&table);
	unwind_table_free(&table);
	elf_file_close(&elf);
	return 0;
}
