/* SPDX-License-Identifier: Apache-2.0 */
/* See system_call.h. */
#include "system_call.h"

#include <string.h>

uint64_t system_call_find(const struct elf_reader *library)
{
	static const uint8_t instruction[] = { 0x0f, 0x05 }; /* SYSCALL */
	const char *memory = library->memory;
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	if (!elf_header_read(library, &header) || header.e_machine != EM_X86_64 ||
	    header.e_phentsize != sizeof segment || header.e_phoff > library->size)
		return 0;
	for (size_t i = 0; i < header.e_phnum; i++) {
		if (!library->read(library, header.e_phoff + i * sizeof segment, &segment, sizeof segment))
			return 0;
		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) || segment.p_offset > library->size ||
		    segment.p_filesz > library->size - segment.p_offset)
			continue;
		const char *code = memmem(memory + segment.p_offset, segment.p_filesz, instruction, sizeof instruction);
		if (code)
			return (uint64_t)(code - memory);
	}
	return 0;
}
