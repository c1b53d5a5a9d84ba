/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as debug information: line tables, units, abbreviations and what they refer to. The input is the contents
 * of the sections, each after its length in 4 bytes, in the order of section_names; an ELF file is made around them
 * here, so that mutations do not break it but what is in it.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "symbolizer/debug_info.h"

static const char *const section_names[] = { ".debug_abbrev", ".debug_info",     ".debug_line",
					     ".debug_str",    ".debug_line_str", ".debug_ranges",
					     ".debug_addr",   ".debug_rnglists", ".debug_str_offsets" };
#define SECTION_COUNT (sizeof section_names / sizeof *section_names)
#define NAMES_SIZE 256

/* Where code of the corpus begins: of programs, and of a GPU image. */
static const uint64_t starts[] = { 0x1000, 0xffff8000ffbe0000 };

struct file {
	Elf64_Ehdr header;
	Elf64_Shdr sections[SECTION_COUNT + 2]; /* none, those, their names */
	char names[NAMES_SIZE];
	unsigned char contents[];
};

/* Cuts a section's contents off the input. */
static const uint8_t *take(const uint8_t **bytes, size_t *left, uint32_t *size)
{
	*size = 0;
	if (*left >= sizeof *size) {
		memcpy(size, *bytes, sizeof *size);
		*bytes += sizeof *size;
		*left -= sizeof *size;
	}
	if (*size > *left)
		*size = (uint32_t)*left;
	const uint8_t *contents = *bytes;
	*bytes += *size;
	*left -= *size;
	return contents;
}

/* A malloc'ed ELF file. */
static struct file *make_file(const uint8_t *bytes, size_t size, size_t *file_size)
{
	struct file *file = calloc(1, sizeof *file + size);
	if (!file)
		return NULL;
	*file_size = sizeof *file + size;
	file->header =
		(Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			      .e_type = ET_EXEC,
			      .e_machine = EM_X86_64,
			      .e_version = EV_CURRENT,
			      .e_shoff = offsetof(struct file, sections),
			      .e_ehsize = sizeof file->header,
			      .e_shentsize = sizeof file->sections[0],
			      .e_shnum = SECTION_COUNT + 2,
			      .e_shstrndx = SECTION_COUNT + 1 };
	size_t name = 1, place = 0, left = size;
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		uint32_t length;
		const uint8_t *contents = take(&bytes, &left, &length);
		memcpy(file->contents + place, contents, length);
		file->sections[1 + i] = (Elf64_Shdr){ .sh_name = (Elf64_Word)name,
						      .sh_type = SHT_PROGBITS,
						      .sh_offset = offsetof(struct file, contents) + place,
						      .sh_size = length,
						      .sh_addralign = 1 };
		memcpy(file->names + name, section_names[i], strlen(section_names[i]) + 1);
		name += strlen(section_names[i]) + 1;
		place += length;
	}
	file->sections[SECTION_COUNT + 1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
							  .sh_offset = offsetof(struct file, names),
							  .sh_size = NAMES_SIZE,
							  .sh_addralign = 1 };
	return file;
}

static void look_up(struct debug_info *info, uint64_t address)
{
	struct debug_frame frames[64];
	size_t count = debug_info_find(info, address, frames, 64);
	if (count > 64)
		abort();
	for (size_t i = 0; i < count; i++)
		if ((frames[i].name && strlen(frames[i].name) > SIZE_MAX / 2) ||
		    (frames[i].file && strlen(frames[i].file) > SIZE_MAX / 2))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	size_t file_size;
	struct elf_file elf;
	struct file *file = make_file(bytes, size, &file_size);
	if (!file || elf_file_open_memory(&elf, (char *)file, file_size))
		return 0;
	struct debug_info *info = debug_lines_exist(&elf) || debug_info_exists(&elf)
					  ? debug_info_new(&elf, NULL, &(bool){ false })
					  : NULL;
	elf_file_close(&elf);
	for (size_t i = 0; info && i < sizeof starts / sizeof *starts; i++)
		for (uint64_t offset = 0; offset < 512; offset += 4)
			look_up(info, starts[i] + offset);
	if (info)
		debug_info_failed(info);
	debug_info_free(info);
	return 0;
}
