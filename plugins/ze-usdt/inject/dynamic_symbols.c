/* SPDX-License-Identifier: Apache-2.0 */
/* See dynamic_symbols.h. */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "dynamic_symbols.h"
#include "elf_bytes.h"

/* In .gnu.version: not the default version of the symbol (System V gABI, symbol versioning). */
#define VERSION_HIDDEN 0x8000u

/* Of a library; the C library's has 70. */
#define SECTIONS_MAX 1024u

/* The next executable segment whose bytes are all in the file, from segment *next on. */
static bool code_segment_next(const struct elf_bytes *bytes, const Elf64_Ehdr *header, size_t *next,
			      Elf64_Phdr *segment)
{
	while (*next < header->e_phnum) {
		uint64_t place = (*next)++ * sizeof *segment;
		if (header->e_phoff > bytes->size ||
		    !bytes->read(bytes, header->e_phoff + place, segment, sizeof *segment))
			return false;
		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) && segment->p_offset <= bytes->size &&
		    segment->p_filesz <= bytes->size - segment->p_offset)
			return true;
	}
	return false;
}

static uint64_t code_offset(const struct elf_bytes *bytes, const Elf64_Ehdr *header, uint64_t address)
{
	Elf64_Phdr segment;

	for (size_t next = 0; code_segment_next(bytes, header, &next, &segment);) {
		if (address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
			return segment.p_offset + (address - segment.p_vaddr);
	}
	return 0;
}

/* The section of a type whose bytes are all in the file, or NULL. */
static const Elf64_Shdr *section_find(const struct elf_bytes *bytes, const struct elf_sections *sections, uint32_t type)
{
	for (size_t i = 0; i < sections->count; i++) {
		const Elf64_Shdr *section = &sections->items[i];
		if (section->sh_type == type && section->sh_offset <= bytes->size &&
		    section->sh_size <= bytes->size - section->sh_offset)
			return section;
	}
	return NULL;
}

/* Whether the string at offset of a table is name. */
static bool string_equals(const struct elf_bytes *bytes, const Elf64_Shdr *strings, uint64_t offset, const char *name)
{
	size_t length = strlen(name) + 1;

	return strings->sh_offset <= bytes->size && strings->sh_size <= bytes->size - strings->sh_offset &&
	       offset <= strings->sh_size && length <= strings->sh_size - offset &&
	       memcmp((const char *)bytes->memory + strings->sh_offset + offset, name, length) == 0;
}

/* Whether the symbol is not the default one of those with its name. */
static bool symbol_is_hidden(const struct elf_bytes *bytes, const Elf64_Shdr *versions, uint64_t index)
{
	uint16_t version = 0;

	return versions && index < versions->sh_size / sizeof version &&
	       bytes->read(bytes, versions->sh_offset + index * sizeof version, &version, sizeof version) &&
	       (version & VERSION_HIDDEN);
}

static int symbols_find(const struct elf_bytes *bytes, const struct elf_sections *sections,
			struct dynamic_symbol *symbols, size_t count)
{
	const Elf64_Shdr *table = section_find(bytes, sections, SHT_DYNSYM);
	const Elf64_Shdr *versions = section_find(bytes, sections, SHT_GNU_versym);
	int found = 0;

	if (!table || table->sh_link >= sections->count || sections->items[table->sh_link].sh_type != SHT_STRTAB)
		return -EINVAL;
	const Elf64_Shdr *strings = &sections->items[table->sh_link];
	for (uint64_t i = 0; i < table->sh_size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym symbol;
		if (!bytes->read(bytes, table->sh_offset + i * sizeof symbol, &symbol, sizeof symbol))
			break;
		if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
			continue;
		for (size_t j = 0; j < count; j++) {
			if (!string_equals(bytes, strings, symbol.st_name, symbols[j].name) ||
			    (symbols[j].file_offset && symbol_is_hidden(bytes, versions, i)))
				continue;
			uint64_t offset = code_offset(bytes, &sections->header, symbol.st_value);
			found += offset && !symbols[j].file_offset;
			if (offset)
				symbols[j].file_offset = offset;
		}
	}
	return found;
}

static bool is_our_machine(const Elf64_Ehdr *header)
{
	return header->e_machine == EM_X86_64 && header->e_phentsize == sizeof(Elf64_Phdr);
}

int dynamic_symbols_find(const uint8_t *memory, size_t size, struct dynamic_symbol *symbols, size_t count)
{
	const struct elf_bytes bytes = elf_bytes_of_memory(memory, size);
	struct elf_sections sections;

	for (size_t i = 0; i < count; i++)
		symbols[i].file_offset = 0;
	if (!elf_sections_read(&bytes, SECTIONS_MAX, &sections))
		return -EINVAL;
	int result = is_our_machine(&sections.header) ? symbols_find(&bytes, &sections, symbols, count) : -EINVAL;
	free(sections.items);
	return result;
}

uint64_t system_call_find(const uint8_t *memory, size_t size)
{
	static const uint8_t instruction[] = { 0x0f, 0x05 }; /* SYSCALL */
	const struct elf_bytes bytes = elf_bytes_of_memory(memory, size);
	struct elf_sections sections;
	Elf64_Phdr segment;
	uint64_t found = 0;

	if (!elf_sections_read(&bytes, SECTIONS_MAX, &sections))
		return 0;
	for (size_t next = 0; !found && is_our_machine(&sections.header) &&
			      code_segment_next(&bytes, &sections.header, &next, &segment);) {
		const uint8_t *code =
			memmem(memory + segment.p_offset, segment.p_filesz, instruction, sizeof instruction);
		if (code)
			found = (uint64_t)(code - memory);
	}
	free(sections.items);
	return found;
}
