/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relocates the debug information of a code object: see code_image.h. libdw relocates nothing, and libdwfl only what
 * its CPU backends support.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolizer/device/code_image.h"
#include "symbolizer/elf_symbols.h"

struct target {
	uint64_t value;
	bool is_known;
};

struct relocator {
	struct code_image *image;
	const struct elf_file *file;
	char *copy;
	struct elf_symbol_reader symbols;
	struct target *targets; /* by symbol */
	size_t section_names;   /* number of the section name table */
	const struct iaprof_relocation *types;
	size_t type_count;
};

/* Returns NULL for a type that the decoder does not know, or describes incorrectly. */
static const struct iaprof_relocation *find_type(const struct relocator *relocator, uint64_t type)
{
	for (size_t i = 0; i < relocator->type_count; i++) {
		const struct iaprof_relocation *known = &relocator->types[i];
		if (known->type == type)
			return (known->width == 1 || known->width == 2 || known->width == 4 || known->width == 8) &&
					       known->shift < 64 && known->formula <= IAPROF_RELOCATION_RELATIVE
				       ? known
				       : NULL;
	}
	return NULL;
}

/* Returns the position of a section by its number in the file; CODE_NONE: it has no code. */
static uint32_t position_of(const struct code_image *image, uint32_t number)
{
	return number < image->section_numbers.count ? image->section_numbers.items[number] : CODE_NONE;
}

/*
 * Returns the address of a symbol. A symbol without a name in a section without code is ambiguous. For an offset into
 * another debug section, it is valid; for an address, it is a compiler defect that leaves units at 0.
 */
static struct target make_target(const struct relocator *relocator, size_t symbol_number)
{
	const struct code_image *image = relocator->image;
	GElf_Sym symbol;
	const char *name = elf_symbol_reader_get(&relocator->symbols, symbol_number, &symbol);
	if (!name)
		return (struct target){ 0 };
	uint32_t position = position_of(image, symbol.st_shndx);
	if (position != CODE_NONE)
		return (struct target){ image->sections.items[position].address + symbol.st_value, true };
	bool is_known = symbol.st_shndx != SHN_UNDEF && (*name || GELF_ST_TYPE(symbol.st_info) == STT_SECTION);
	return (struct target){ symbol.st_value, is_known };
}

/* Applies sections of symbols as reported by the decoder. */
static void correct_targets(struct relocator *relocator)
{
	const struct code_image *image = relocator->image;
	for (size_t i = 0; i < image->description->symbols.count; i++) {
		const struct described_symbol *described = &image->description->symbols.items[i];
		uint32_t position = position_of(image, described->section);
		GElf_Sym symbol;
		if (position != CODE_NONE && elf_symbol_reader_get(&relocator->symbols, described->number, &symbol))
			relocator->targets[described->number] =
				(struct target){ image->sections.items[position].address + symbol.st_value, true };
	}
}

/* Returns false if out of memory. */
static bool make_targets(struct relocator *relocator)
{
	relocator->targets = calloc(relocator->symbols.count + 1, sizeof *relocator->targets);
	for (size_t i = 1; i < relocator->symbols.count && relocator->targets; i++)
		relocator->targets[i] = make_target(relocator, i);
	if (relocator->targets)
		correct_targets(relocator);
	return relocator->targets;
}

/* Returns a section of the copy that may be relocated; NULL if it may not, or is damaged. */
static char *find_destination(const struct relocator *relocator, size_t number, uint64_t *size)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_getscn(relocator->file->elf, number);
	if (!section || !gelf_getshdr(section, &header))
		return NULL;
	const char *name = elf_strptr(relocator->file->elf, relocator->section_names, header.sh_name);
	if (!name || strncmp(name, ".debug_", 7) != 0 || header.sh_type != SHT_PROGBITS ||
	    header.sh_flags & (SHF_COMPRESSED | SHF_EXECINSTR) || header.sh_offset > relocator->file->size ||
	    header.sh_size > relocator->file->size - header.sh_offset)
		return NULL;
	*size = header.sh_size;
	return relocator->copy + header.sh_offset;
}

/* Writes one value; returns false if that is impossible. */
static bool write_value(const struct relocator *relocator, const GElf_Rela *relocation, bool has_addend,
			char *destination, uint64_t size)
{
	const struct iaprof_relocation *type = find_type(relocator, GELF_R_TYPE(relocation->r_info));
	size_t position = GELF_R_SYM(relocation->r_info);
	if (!type || position >= relocator->symbols.count || relocation->r_offset > size ||
	    type->width > size - relocation->r_offset)
		return false;
	if (type->formula == IAPROF_RELOCATION_NONE)
		return true;
	/* All supported machines are little-endian, as checked when the file was opened. */
	char *place = destination + relocation->r_offset;
	uint64_t addend = (uint64_t)relocation->r_addend;
	if (!has_addend) {
		addend = 0;
		memcpy(&addend, place, type->width);
	}
	uint64_t value = relocator->targets[position].value + addend;
	if (type->formula == IAPROF_RELOCATION_RELATIVE)
		value -= relocation->r_offset; /* debug sections are at 0 */
	value >>= type->shift;
	memcpy(place, &value, type->width);
	relocator->image->damage.unnamed += !relocator->targets[position].is_known && type->width == sizeof value;
	return true;
}

static void relocate_section(struct relocator *relocator, Elf_Scn *section, const GElf_Shdr *header)
{
	uint64_t size;
	char *destination = find_destination(relocator, header->sh_info, &size);
	if (!destination)
		return; /* code is relocated by the loader */
	Elf_Data *data = elf_file_section_data(section);
	bool has_addend = header->sh_type == SHT_RELA;
	size_t entry_size = gelf_fsize(relocator->file->elf, has_addend ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
	size_t count = data ? data->d_size / entry_size : 0;
	relocator->image->damage.parts += !data;
	for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
		GElf_Rela relocation = { 0 };
		GElf_Rel without_addend;
		bool found = has_addend ? gelf_getrela(data, (int)i, &relocation) != NULL
					: gelf_getrel(data, (int)i, &without_addend) != NULL;
		if (found && !has_addend)
			relocation = (GElf_Rela){ without_addend.r_offset, without_addend.r_info, 0 };
		if (!found || !write_value(relocator, &relocation, has_addend, destination, size))
			relocator->image->damage.relocations++;
	}
}

int code_image_relocate(struct code_image *image, const struct elf_file *file, char *copy,
			const struct iaprof_relocation *types, size_t type_count)
{
	struct relocator relocator = {
		.image = image, .file = file, .copy = copy, .types = types, .type_count = type_count
	};
	if (elf_getshdrstrndx(file->elf, &relocator.section_names) ||
	    elf_symbol_reader_open(&relocator.symbols, file, SHT_SYMTAB) < 0)
		return -ENOEXEC;
	bool done = make_targets(&relocator);
	for (Elf_Scn *section = NULL; done && (section = elf_nextscn(file->elf, section));) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) && (header.sh_type == SHT_RELA || header.sh_type == SHT_REL))
			relocate_section(&relocator, section, &header);
	}
	free(relocator.targets);
	return done ? 0 : -ENOMEM;
}
