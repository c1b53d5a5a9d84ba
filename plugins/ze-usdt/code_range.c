/* SPDX-License-Identifier: Apache-2.0 */
/* See code_range.h. */
#include <stdlib.h>
#include "code_range.h"

/* One section per kernel, and a few with debug information for each; the maximum of e_shnum. */
#define SECTIONS_MAX SHN_LORESERVE

bool code_range_find(const struct elf_reader *bytes, struct code_range *range)
{
	struct elf_sections sections;
	uint64_t first = UINT64_MAX, end = 0;

	*range = (struct code_range){ 0 };
	if (!elf_sections_read(bytes, SECTIONS_MAX, &sections))
		return false;
	for (size_t i = 0; i < sections.count; i++) {
		const Elf64_Shdr *section = &sections.items[i];
		uint64_t address = canonical_form_remove(section->sh_addr);
		if (section->sh_type != SHT_PROGBITS || !(section->sh_flags & SHF_EXECINSTR) || !address ||
		    section->sh_size > bytes->size)
			continue;
		if (address < first)
			first = address;
		if (address + section->sh_size > end)
			end = address + section->sh_size;
	}
	free(sections.items);
	range->machine = sections.header.e_machine;
	if (end > first) {
		range->address = first;
		range->size = end - first;
	}
	return true;
}
