/* SPDX-License-Identifier: Apache-2.0 */
/* Sections and symbols of an ELF file in memory, every offset checked. */
#include "loaded_elf.h"

#include <elf.h>
#include <string.h>

/* The runtime sign-extends addresses of 48 bits; zexKernelGetBaseAddress does not. */
#define ADDRESS_MASK ((UINT64_C(1) << 48) - 1)

static bool in_file(size_t size, uint64_t offset, uint64_t length)
{
	return offset <= size && length <= size - offset;
}

static bool header_read(const uint8_t *data, size_t size, Elf64_Ehdr *header)
{
	if (size < sizeof *header)
		return false;
	memcpy(header, data, sizeof *header);
	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64 &&
	       header->e_shentsize == sizeof(Elf64_Shdr) &&
	       in_file(size, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr));
}

static Elf64_Shdr section_read(const uint8_t *data, const Elf64_Ehdr *header, unsigned index)
{
	Elf64_Shdr section;

	memcpy(&section, data + header->e_shoff + index * sizeof section, sizeof section);
	return section;
}

bool loaded_elf_code(const uint8_t *data, size_t size, uint64_t *address, uint64_t *length)
{
	uint64_t lowest = UINT64_MAX, end = 0;
	Elf64_Ehdr header;

	if (!header_read(data, size, &header))
		return false;
	for (unsigned i = 0; i < header.e_shnum; i++) {
		Elf64_Shdr section = section_read(data, &header, i);
		uint64_t start = section.sh_addr & ADDRESS_MASK;

		if (!(section.sh_flags & SHF_EXECINSTR) || start == 0)
			continue;
		lowest = start < lowest ? start : lowest;
		end = start + section.sh_size > end ? start + section.sh_size : end;
	}
	*address = lowest;
	*length = end - lowest;
	return end > 0;
}

static bool function_find(const uint8_t *data, const Elf64_Shdr *symbols, const Elf64_Shdr *strings, const char *name,
			  Elf64_Sym *found)
{
	size_t length = strlen(name) + 1;

	for (uint64_t offset = 0; offset + sizeof *found <= symbols->sh_size; offset += sizeof *found) {
		memcpy(found, data + symbols->sh_offset + offset, sizeof *found);
		if (ELF64_ST_TYPE(found->st_info) == STT_FUNC && in_file(strings->sh_size, found->st_name, length) &&
		    memcmp(data + strings->sh_offset + found->st_name, name, length) == 0)
			return true;
	}
	return false;
}

bool loaded_elf_function(const uint8_t *data, size_t size, const char *name, uint64_t *address, uint64_t *length)
{
	Elf64_Ehdr header;

	if (!header_read(data, size, &header))
		return false;
	for (unsigned i = 0; i < header.e_shnum; i++) {
		Elf64_Shdr section = section_read(data, &header, i), strings;
		Elf64_Sym symbol;

		if (section.sh_type != SHT_SYMTAB || section.sh_link >= header.e_shnum)
			continue;
		strings = section_read(data, &header, section.sh_link);
		if (!in_file(size, section.sh_offset, section.sh_size) ||
		    !in_file(size, strings.sh_offset, strings.sh_size) ||
		    !function_find(data, &section, &strings, name, &symbol))
			continue;
		*address = symbol.st_value & ADDRESS_MASK;
		*length = symbol.st_size;
		return true;
	}
	return false;
}
