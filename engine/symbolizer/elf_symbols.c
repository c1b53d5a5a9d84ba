/* SPDX-License-Identifier: Apache-2.0 */
/* See elf_symbols.h. */
#include "symbolizer/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"

/* The section of a symbol. */
struct section_place {
	uint64_t end; /* 0: not executable */
};

static bool read_section_places(const struct elf_file *file, struct section_place **places, size_t *count)
{
	if (elf_getshdrnum(file->elf, count))
		*count = 0;
	*places = calloc(*count + 1, sizeof **places);
	if (!*places)
		return false;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
		GElf_Shdr header;
		size_t index = elf_ndxscn(section);
		if (index < *count && gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR &&
		    header.sh_size <= UINT64_MAX - header.sh_addr)
			(*places)[index].end = header.sh_addr + header.sh_size;
	}
	return true;
}

/* Returns whether a symbol was created by the assembler: "$x" and "$d" on Arm and RISC-V, ".L12" everywhere. */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' || (name[0] == '.' && name[1] == 'L');
}

static bool symbol_rank(const GElf_Sym *symbol, enum symbol_rank *rank)
{
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		break;
	case STT_NOTYPE: /* labels of assembler code */
		*rank = SYMBOL_LABEL;
		return true;
	default:
		return false;
	}
	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_LOCAL:
		*rank = SYMBOL_LOCAL;
		break;
	case STB_WEAK:
		*rank = SYMBOL_WEAK;
		break;
	default:
		*rank = SYMBOL_GLOBAL;
		break;
	}
	return true;
}

int elf_symbol_reader_open(struct elf_symbol_reader *reader, const struct elf_file *file, uint32_t type)
{
	*reader = (struct elf_symbol_reader){ 0 };
	GElf_Shdr header, names_header;
	Elf_Scn *section = elf_file_section(file, NULL, type, &header);
	if (!section || header.sh_type == SHT_NOBITS)
		return 0;
	Elf_Scn *names_section = elf_getscn(file->elf, header.sh_link);
	Elf_Data *symbols = elf_file_section_data(section);
	Elf_Data *names = elf_file_section_data(names_section);
	if (!symbols || !names || !gelf_getshdr(names_section, &names_header) || names_header.sh_type != SHT_STRTAB)
		return header.sh_size ? -ENOEXEC : 0;
	/* A table that does not end with a NUL is truncated after its last one. */
	const char *last_end = memrchr(names->d_buf, '\0', names->d_size);
	size_t names_size = last_end ? (size_t)(last_end - (const char *)names->d_buf) : 0;
	*reader = (struct elf_symbol_reader){
		.symbols = symbols,
		.names = names,
		.names_size = names_size,
		.is_64 = symbols->d_type == ELF_T_SYM && gelf_getclass(file->elf) == ELFCLASS64,
		.count = symbols->d_size / gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT)
	};
	return 1;
}

const char *elf_symbol_reader_get(const struct elf_symbol_reader *reader, size_t position, GElf_Sym *symbol)
{
	if (position >= reader->count || position > INT32_MAX)
		return NULL;
	/* gelf_getsym() takes a lock for each symbol. */
	if (reader->is_64)
		memcpy(symbol, (const char *)reader->symbols->d_buf + position * sizeof *symbol, sizeof *symbol);
	else if (!gelf_getsym(reader->symbols, (int)position, symbol))
		return NULL;
	if (symbol->st_name >= reader->names_size)
		return NULL;
	return (const char *)reader->names->d_buf + symbol->st_name;
}

long elf_symbols_add(const struct elf_file *file, uint32_t type, struct symbol_builder *builder)
{
	struct elf_symbol_reader reader;
	int code = elf_symbol_reader_open(&reader, file, type);
	if (code <= 0)
		return code;
	CLEANUP_FREE struct section_place *places = NULL;
	size_t place_count;
	if (!read_section_places(file, &places, &place_count))
		return -ENOMEM;
	long added = 0;
	for (size_t i = 1; i < reader.count; i++) {
		GElf_Sym symbol;
		enum symbol_rank rank;
		const char *name = elf_symbol_reader_get(&reader, i, &symbol);
		if (!name || !symbol_rank(&symbol, &rank) || symbol.st_shndx == SHN_UNDEF ||
		    symbol.st_shndx >= place_count)
			continue;
		uint64_t limit = places[symbol.st_shndx].end;
		if (file->header.e_machine == EM_ARM)
			symbol.st_value &= ~(GElf_Addr)1; /* bit 0 marks Thumb code */
		if (symbol.st_value >= limit || !*name || is_mapping_symbol(name))
			continue;
		/* Where a label ends is known only if all of its neighbours are. */
		if (!symbol.st_size && type == SHT_DYNSYM && rank == SYMBOL_LABEL)
			continue;
		uint64_t left = limit - symbol.st_value;
		uint64_t size = symbol.st_size < left ? symbol.st_size : left;
		if (!symbol_builder_add(builder, name, symbol.st_value, size, limit, rank))
			return -ENOMEM;
		added++;
	}
	return added;
}
