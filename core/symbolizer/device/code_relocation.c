/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relocating the debug information of a code object: see code_image.h. libdw relocates nothing, and libdwfl only what
 * its backends for CPUs know.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "symbolizer/device/code_image.h"
#include "symbolizer/elf_symbols.h"

/* What a relocation writes: the upper or lower part of symbol + addend. */
struct relocation_kind {
	uint16_t machine;
	uint32_t type;
	uint32_t size;  /* bytes */
	uint32_t shift; /* to the right, of the value */
};

/* By e_machine, which libelf before 0.186 has no names for; Level Zero's zebin specification has the types. */
static const struct relocation_kind relocation_kinds[] = {
	{ 205, 1, 8, 0 },  /* EM_INTELGT: R_ZE_SYM_ADDR */
	{ 205, 2, 4, 0 },  /* R_ZE_SYM_ADDR_32 */
	{ 205, 3, 4, 32 }, /* R_ZE_SYM_ADDR_32_HI */
};

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
	size_t section_names;   /* number of the section with their names */
};

static const struct relocation_kind *find_kind(const struct relocator *relocator, uint64_t type)
{
	for (size_t i = 0; i < sizeof relocation_kinds / sizeof *relocation_kinds; i++)
		if (relocation_kinds[i].machine == relocator->file->header.e_machine &&
		    relocation_kinds[i].type == type)
			return &relocation_kinds[i];
	return NULL;
}

/*
 * What a symbol stands for. Compilers of zebins write a symbol with the name of the section that is meant, and as its
 * own section the one that is relocated; ordinary symbols are in the section that they are of. A symbol without a name
 * in a section without code says nothing. That is well for an offset into another debug section; of an address it is
 * a defect of compilers, which leaves all units at 0.
 */
static struct target make_target(const struct relocator *relocator, size_t position, struct string_table *names)
{
	const struct code_image *image = relocator->image;
	GElf_Sym symbol;
	const char *name = elf_symbol_reader_get(&relocator->symbols, position, &symbol);
	if (!name)
		return (struct target){ 0 };
	uint32_t named = *name ? string_table_add(names, name, strlen(name), NULL) : 0;
	if (named && named <= image->sections.count)
		return (struct target){ image->sections.items[named - 1].address + symbol.st_value, true };
	uint32_t number = symbol.st_shndx < image->section_numbers.count ? image->section_numbers.items[symbol.st_shndx]
									 : CODE_NONE;
	if (number != CODE_NONE)
		return (struct target){ image->sections.items[number].address + symbol.st_value, true };
	bool is_known = symbol.st_shndx != SHN_UNDEF && (*name || GELF_ST_TYPE(symbol.st_info) == STT_SECTION);
	return (struct target){ symbol.st_value, is_known };
}

/* False when out of memory. */
static bool make_targets(struct relocator *relocator)
{
	const struct code_image *image = relocator->image;
	struct string_table names = { 0 };
	bool done = true;
	relocator->targets = calloc(relocator->symbols.count + 1, sizeof *relocator->targets);
	/* Sections get the numbers 1, 2, 3, ...; of two with one name neither can be meant. */
	for (size_t i = 0; i < image->sections.count && done; i++) {
		const char *name = image->sections.items[i].name;
		char unique[32];
		bool is_new;
		if (!string_table_add(&names, name, strlen(name), &is_new))
			done = false;
		if (done && !is_new) {
			snprintf(unique, sizeof unique, "\n%zu", i);
			done = string_table_add(&names, unique, strlen(unique), NULL);
		}
	}
	for (size_t i = 1; i < relocator->symbols.count && done && relocator->targets; i++)
		relocator->targets[i] = make_target(relocator, i, &names);
	string_table_free(&names);
	return done && relocator->targets;
}

/* The place in the copy of a section that may be relocated; NULL when it is none, or damaged. */
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

/* Writes one value; false when it cannot be done. */
static bool write_value(const struct relocator *relocator, const GElf_Rela *relocation, bool has_addend,
			char *destination, uint64_t size)
{
	const struct relocation_kind *kind = find_kind(relocator, GELF_R_TYPE(relocation->r_info));
	size_t position = GELF_R_SYM(relocation->r_info);
	if (!kind || position >= relocator->symbols.count || relocation->r_offset > size ||
	    kind->size > size - relocation->r_offset)
		return false;
	/* All of these machines are little-endian, as the file is: else libelf's bytes would be of no use here. */
	char *place = destination + relocation->r_offset;
	uint64_t addend = (uint64_t)relocation->r_addend;
	if (!has_addend) {
		addend = 0;
		memcpy(&addend, place, kind->size);
	}
	uint64_t value = (relocator->targets[position].value + addend) >> kind->shift;
	memcpy(place, &value, kind->size);
	return relocator->targets[position].is_known || kind->size < sizeof value;
}

static void relocate_section(struct relocator *relocator, Elf_Scn *section, const GElf_Shdr *header)
{
	uint64_t size;
	char *destination = find_destination(relocator, header->sh_info, &size);
	if (!destination)
		return; /* of code: a loader's affair */
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

int code_image_relocate(struct code_image *image, const struct elf_file *file, char *copy)
{
	struct relocator relocator = { .image = image, .file = file, .copy = copy };
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
