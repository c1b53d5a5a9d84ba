/* SPDX-License-Identifier: Apache-2.0 */
/* See function_table.h. */
#include <stdlib.h>
#include <string.h>
#include "elf/elf_segments.h"
#include "elf/exported_functions.h"
#include "elf/function_table.h"

#define SECTIONS_MAX 4096u
/* Limit on relocations; a driver of 60 MB has 20,000. */
#define RELOCATIONS_MAX (1u << 20)

/* Offsets of functions, 0 where none is known yet. */
struct wanted {
	const uint32_t *indexes;
	size_t count;
	uint64_t *offsets;
};

struct relocations {
	Elf64_Rela *items;
	size_t count;
};

static bool is_address(const Elf64_Rela *relocation)
{
	return ELF64_R_TYPE(relocation->r_info) == R_X86_64_RELATIVE;
}

/* Returns whether all functions are in the table at an address. */
static bool table_read(const struct elf_reader *bytes, const struct elf_segments *segments,
		       const struct relocations *relocations, uint64_t table, const struct wanted *wanted)
{
	size_t found = 0;

	memset(wanted->offsets, 0, wanted->count * sizeof *wanted->offsets);
	for (size_t i = 0; i < relocations->count; i++) {
		const Elf64_Rela *relocation = &relocations->items[i];
		if (!is_address(relocation) || relocation->r_offset < table)
			continue;
		for (size_t k = 0; k < wanted->count; k++) {
			if (wanted->offsets[k] ||
			    relocation->r_offset - table != (uint64_t)wanted->indexes[k] * sizeof(uint64_t))
				continue;
			wanted->offsets[k] = elf_code_offset(bytes, segments, (uint64_t)relocation->r_addend);
			found += wanted->offsets[k] != 0;
		}
	}
	return found == wanted->count;
}

/* Tries only the first entry with the anchor's address, so that a crafted file does not cost a search for each entry.
 */
static bool section_search(const struct elf_reader *bytes, const struct elf_segments *segments,
			   const struct relocations *relocations, uint64_t anchor, uint32_t anchor_index,
			   const struct wanted *wanted)
{
	uint64_t before = (uint64_t)anchor_index * sizeof(uint64_t);

	for (size_t i = 0; i < relocations->count; i++) {
		const Elf64_Rela *relocation = &relocations->items[i];
		if (is_address(relocation) && relocation->r_offset >= before &&
		    elf_code_offset(bytes, segments, (uint64_t)relocation->r_addend) == anchor)
			return table_read(bytes, segments, relocations, relocation->r_offset - before, wanted);
	}
	return false;
}

bool function_table_find(const struct elf_reader *bytes, const char *anchor, uint32_t anchor_index,
			 const uint32_t *indexes, size_t count, uint64_t *offsets)
{
	const struct wanted wanted = { .indexes = indexes, .count = count, .offsets = offsets };
	struct elf_segments segments = { 0 };
	struct elf_sections sections;
	uint64_t anchor_offset = exported_function_find(bytes, anchor), relocations_read = 0;
	bool found = false;

	memset(offsets, 0, count * sizeof *offsets);
	if (!anchor_offset || !elf_sections_read(bytes, SECTIONS_MAX, &sections))
		return false;
	if (sections.header.e_machine == EM_X86_64 && elf_segments_read(bytes, &sections.header, &segments)) {
		for (size_t i = 0; i < sections.count && !found; i++) {
			const Elf64_Shdr *section = &sections.items[i];
			struct relocations relocations = { .count = section->sh_size / sizeof(Elf64_Rela) };
			relocations_read += section->sh_type == SHT_RELA ? relocations.count : 0;
			if (section->sh_type != SHT_RELA || section->sh_entsize != sizeof(Elf64_Rela) ||
			    relocations_read > RELOCATIONS_MAX)
				continue;
			relocations.items =
				elf_part_read(bytes, section->sh_offset, relocations.count * sizeof(Elf64_Rela));
			found = relocations.items &&
				section_search(bytes, &segments, &relocations, anchor_offset, anchor_index, &wanted);
			free(relocations.items);
		}
	}
	if (!found)
		memset(offsets, 0, count * sizeof *offsets);
	free(segments.items);
	free(sections.items);
	return found;
}
