/* SPDX-License-Identifier: Apache-2.0 */
/* See exported_functions.h. */
#include <stdlib.h>
#include <string.h>
#include "elf/elf_segments.h"
#include "elf/exported_functions.h"

/* Limits far above those of a Level Zero library: the loader exports a few thousand functions. */
#define SECTIONS_MAX 4096u
#define SYMBOLS_MAX 262144u
#define NAMES_SIZE_MAX (32u << 20)
/* In .gnu.version: not the default version of the symbol (System V gABI, symbol versioning). */
#define VERSION_HIDDEN 0x8000u

static bool is_exported_function(const Elf64_Sym *symbol)
{
	unsigned char binding = ELF64_ST_BIND(symbol->st_info), visibility = ELF64_ST_VISIBILITY(symbol->st_other);

	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
	       (binding == STB_GLOBAL || binding == STB_WEAK) &&
	       (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

struct wanted {
	const char *const *names;
	size_t count;
	uint64_t *offsets;
};

/* If a function has several versions, uses the default one. */
static void symbol_take(const struct wanted *wanted, const char *name, size_t room, uint64_t offset, bool is_hidden)
{
	for (size_t i = 0; i < wanted->count; i++) {
		size_t size = strlen(wanted->names[i]) + 1;
		if (size <= room && !memcmp(wanted->names[i], name, size) && (!is_hidden || !wanted->offsets[i]))
			wanted->offsets[i] = offset;
	}
}

static bool symbol_is_hidden(const struct elf_reader *bytes, const struct elf_sections *sections, size_t index)
{
	uint16_t version = 0;

	for (size_t i = 0; i < sections->count; i++) {
		const Elf64_Shdr *section = &sections->items[i];
		if (section->sh_type == SHT_GNU_versym && index < section->sh_size / sizeof version &&
		    section->sh_offset <= bytes->size)
			(void)bytes->read(bytes, section->sh_offset + index * sizeof version, &version, sizeof version);
	}
	return version & VERSION_HIDDEN;
}

static bool symbols_search(const struct elf_reader *bytes, const struct elf_sections *sections,
			   const struct elf_segments *segments, const Elf64_Shdr *table, const struct wanted *wanted)
{
	size_t count = table->sh_size / sizeof(Elf64_Sym);

	if (table->sh_entsize != sizeof(Elf64_Sym) || count > SYMBOLS_MAX || table->sh_link >= sections->count)
		return false;
	const Elf64_Shdr *strings = &sections->items[table->sh_link];
	if (strings->sh_type != SHT_STRTAB || strings->sh_size > NAMES_SIZE_MAX)
		return false;
	Elf64_Sym *symbols = elf_part_read(bytes, table->sh_offset, count * sizeof *symbols);
	char *names = elf_part_read(bytes, strings->sh_offset, strings->sh_size);
	bool good = symbols && names;
	for (size_t i = 0; good && i < count; i++)
		if (is_exported_function(&symbols[i]) && symbols[i].st_name < strings->sh_size)
			symbol_take(wanted, names + symbols[i].st_name, strings->sh_size - symbols[i].st_name,
				    elf_code_offset(bytes, segments, symbols[i].st_value),
				    symbol_is_hidden(bytes, sections, i));
	free(symbols);
	free(names);
	return good;
}

bool exported_functions_find(const struct elf_reader *bytes, const char *const *names, size_t count, uint64_t *offsets)
{
	const struct wanted wanted = { .names = names, .count = count, .offsets = offsets };
	struct elf_segments segments = { 0 };
	struct elf_sections sections;
	bool good = false;

	memset(offsets, 0, count * sizeof *offsets);
	if (!elf_sections_read(bytes, SECTIONS_MAX, &sections))
		return false;
	if (elf_segments_read(bytes, &sections.header, &segments))
		for (size_t i = 0; i < sections.count && !good; i++)
			good = sections.items[i].sh_type == SHT_DYNSYM &&
			       symbols_search(bytes, &sections, &segments, &sections.items[i], &wanted);
	free(segments.items);
	free(sections.items);
	return good;
}

uint64_t exported_function_find(const struct elf_reader *bytes, const char *name)
{
	uint64_t offset;

	return exported_functions_find(bytes, &name, 1, &offset) ? offset : 0;
}
