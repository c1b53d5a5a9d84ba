/* SPDX-License-Identifier: Apache-2.0 */
/* See elf_segments.h. */
#include <stdlib.h>
#include "elf/elf_segments.h"

#define PROGRAM_HEADERS_MAX 256u

void *elf_part_read(const struct elf_reader *bytes, uint64_t offset, uint64_t size)
{
	void *part = size ? malloc(size) : NULL;

	if (part && bytes->read(bytes, offset, part, size))
		return part;
	free(part);
	return NULL;
}

bool elf_segments_read(const struct elf_reader *bytes, const Elf64_Ehdr *header, struct elf_segments *segments)
{
	*segments = (struct elf_segments){ .count = header->e_phnum };
	if (!header->e_phnum || header->e_phnum > PROGRAM_HEADERS_MAX || header->e_phentsize != sizeof(Elf64_Phdr))
		return false;
	segments->items = elf_part_read(bytes, header->e_phoff, segments->count * sizeof(Elf64_Phdr));
	return segments->items;
}

uint64_t elf_code_offset(const struct elf_reader *bytes, const struct elf_segments *segments, uint64_t address)
{
	for (size_t i = 0; i < segments->count; i++) {
		const Elf64_Phdr *segment = &segments->items[i];
		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || address < segment->p_vaddr ||
		    address - segment->p_vaddr >= segment->p_filesz)
			continue;
		uint64_t inside = address - segment->p_vaddr;
		if (segment->p_offset >= bytes->size || inside >= bytes->size - segment->p_offset)
			return 0;
		return segment->p_offset + inside;
	}
	return 0;
}
