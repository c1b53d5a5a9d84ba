/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the functions of a loaded image, and creates an image of one kernel. */
#include "device_binary.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifndef EM_INTELGT
#define EM_INTELGT 205 /* since glibc 2.37 */
#endif

uint64_t image_address(uint64_t address)
{
	if (address >> 47 == UINT64_MAX >> 47)
		return address & (UINT64_MAX >> 16);
	if (address >> 56 == UINT64_MAX >> 56)
		return address & (UINT64_MAX >> 7);
	return address;
}

struct image {
	const uint8_t *bytes;
	size_t size;
	Elf64_Ehdr header;
};

static bool copy(const struct image *image, uint64_t offset, void *to, size_t size)
{
	if (offset > image->size || size > image->size - offset)
		return false;
	memcpy(to, image->bytes + offset, size);
	return true;
}

static bool section(const struct image *image, unsigned index, Elf64_Shdr *section_header)
{
	uint64_t place = (uint64_t)index * sizeof *section_header;

	return image->header.e_shoff <= image->size &&
	       copy(image, image->header.e_shoff + place, section_header, sizeof *section_header);
}

static int compare_addresses(const void *left, const void *right)
{
	const struct image_function *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* Reads the functions of one symbol table, except those without address or size. */
static size_t table_functions(const struct image *image, const Elf64_Shdr *table, struct image_function *functions,
			      size_t room)
{
	size_t count = 0;

	for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size && count < room; at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		if (table->sh_offset > image->size || !copy(image, table->sh_offset + at, &symbol, sizeof symbol))
			break;
		if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_value && symbol.st_size)
			functions[count++] = (struct image_function){ image_address(symbol.st_value), symbol.st_size };
	}
	return count;
}

size_t image_functions(const uint8_t *bytes, size_t size, struct image_function **functions)
{
	struct image image = { .bytes = bytes, .size = size };
	size_t room = 0, count = 0;
	Elf64_Shdr header;

	*functions = NULL;
	if (!copy(&image, 0, &image.header, sizeof image.header) ||
	    memcmp(image.header.e_ident, ELFMAG, SELFMAG) != 0 || image.header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    image.header.e_ident[EI_DATA] != ELFDATA2LSB || image.header.e_shentsize != sizeof header)
		return 0;
	for (unsigned i = 0; i < image.header.e_shnum; i++)
		if (section(&image, i, &header) && header.sh_type == SHT_SYMTAB && header.sh_size <= size)
			room += header.sh_size / sizeof(Elf64_Sym);
	/* Sections may overlap, but there are never more symbols than fit into the image. */
	if (room > size / sizeof(Elf64_Sym))
		room = size / sizeof(Elf64_Sym);
	if (room == 0)
		return 0;
	*functions = malloc(room * sizeof **functions);
	if (!*functions)
		return 0;
	for (unsigned i = 0; i < image.header.e_shnum; i++)
		if (section(&image, i, &header) && header.sh_type == SHT_SYMTAB && header.sh_size <= size)
			count += table_functions(&image, &header, *functions + count, room - count);
	if (count == 0) {
		free(*functions);
		*functions = NULL;
		return 0;
	}
	qsort(*functions, count, sizeof **functions, compare_addresses);
	return count;
}

uint64_t image_function_size(const struct image_function *functions, size_t count, uint64_t address)
{
	struct image_function wanted = { .address = address };
	const struct image_function *found =
		count ? bsearch(&wanted, functions, count, sizeof *functions, compare_addresses) : NULL;

	return found ? found->size : 0;
}

size_t image_code_size(const uint8_t *code, size_t size)
{
	static const uint8_t zeros[8];

	size -= size % sizeof zeros; /* instructions have 8 or 16 bytes */
	while (size > 0 && memcmp(code + size - sizeof zeros, zeros, sizeof zeros) == 0)
		size -= sizeof zeros;
	return size;
}

/* Sections of a created image. */
enum { SECTION_NONE, SECTION_TEXT, SECTION_SYMBOLS, SECTION_STRINGS, SECTION_COUNT };

uint8_t *image_make(const char *name, uint64_t address, const uint8_t *code, size_t code_size, size_t *size)
{
	/* One string table: section names, then ".text.NAME", whose tail is the symbol's name. */
	static const char fixed[] = "\0.symtab\0.strtab\0.text.";
	enum { NAME_SYMBOLS = 1, NAME_STRINGS = 9, NAME_TEXT = 17, NAME_KERNEL = 23 };
	size_t length = strlen(name), strings_size = NAME_KERNEL + length + 1;
	Elf64_Sym symbols[2] = { { 0 },
				 { .st_name = NAME_KERNEL,
				   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				   .st_shndx = SECTION_TEXT,
				   .st_value = address,
				   .st_size = code_size } };
	size_t headers_at = sizeof(Elf64_Ehdr), symbols_at = headers_at + SECTION_COUNT * sizeof(Elf64_Shdr),
	       strings_at = symbols_at + sizeof symbols, code_at = (strings_at + strings_size + 63) / 64 * 64;
	Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			      .e_type = ET_EXEC,
			      .e_machine = EM_INTELGT,
			      .e_version = EV_CURRENT,
			      .e_shoff = headers_at,
			      .e_ehsize = sizeof header,
			      .e_shentsize = sizeof(Elf64_Shdr),
			      .e_shnum = SECTION_COUNT,
			      .e_shstrndx = SECTION_STRINGS };
	Elf64_Shdr sections[SECTION_COUNT] = {
		[SECTION_TEXT] = { .sh_name = NAME_TEXT,
				   .sh_type = SHT_PROGBITS,
				   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				   .sh_addr = address,
				   .sh_offset = code_at,
				   .sh_size = code_size,
				   .sh_addralign = 1 },
		[SECTION_SYMBOLS] = { .sh_name = NAME_SYMBOLS,
				      .sh_type = SHT_SYMTAB,
				      .sh_offset = symbols_at,
				      .sh_size = sizeof symbols,
				      .sh_link = SECTION_STRINGS,
				      .sh_info = 1, /* the first non-local symbol */
				      .sh_addralign = 8,
				      .sh_entsize = sizeof *symbols },
		[SECTION_STRINGS] = { .sh_name = NAME_STRINGS,
				      .sh_type = SHT_STRTAB,
				      .sh_offset = strings_at,
				      .sh_size = strings_size,
				      .sh_addralign = 1 },
	};

	uint8_t *image = code_size <= SIZE_MAX - code_at ? calloc(1, code_at + code_size) : NULL;
	if (!image)
		return NULL;
	memcpy(image, &header, sizeof header);
	memcpy(image + headers_at, sections, sizeof sections);
	memcpy(image + symbols_at, symbols, sizeof symbols);
	memcpy(image + strings_at, fixed, NAME_KERNEL);
	memcpy(image + strings_at + NAME_KERNEL, name, length + 1);
	memcpy(image + code_at, code, code_size);
	*size = code_at + code_size;
	return image;
}
