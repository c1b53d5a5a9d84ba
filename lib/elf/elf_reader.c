/* SPDX-License-Identifier: Apache-2.0 */
/* See elf_reader.h. */
#include <stdlib.h>
#include <string.h>
#include "base/regular_file.h"
#include "elf/elf_reader.h"

static bool memory_read(const struct elf_reader *bytes, uint64_t offset, void *buffer, size_t size)
{
	if (offset > bytes->size || size > bytes->size - offset)
		return false;
	if (size)
		memcpy(buffer, (const char *)bytes->memory + offset, size);
	return true;
}

static bool file_read(const struct elf_reader *bytes, uint64_t offset, void *buffer, size_t size)
{
	return offset <= bytes->size && size <= bytes->size - offset &&
	       file_read_at(bytes->descriptor, buffer, size, offset) == (ssize_t)size;
}

struct elf_reader elf_reader_of_memory(const void *memory, uint64_t size)
{
	return (struct elf_reader){ .read = memory_read, .size = size, .memory = memory, .descriptor = -1 };
}

struct elf_reader elf_reader_of_file(int descriptor, uint64_t size)
{
	return (struct elf_reader){ .read = file_read, .size = size, .descriptor = descriptor };
}

bool elf_header_read(const struct elf_reader *bytes, Elf64_Ehdr *header)
{
	return bytes->read(bytes, 0, header, sizeof *header) && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB;
}

bool elf_sections_read(const struct elf_reader *bytes, size_t limit, struct elf_sections *sections)
{
	Elf64_Ehdr *header = &sections->header;

	sections->items = NULL;
	sections->count = 0;
	if (!elf_header_read(bytes, header))
		return false;
	/* No sections, or more than fit into the header's 16 bits: not a supported file. */
	if (header->e_shnum == 0)
		return true;
	if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shnum > limit)
		return false;
	size_t size = header->e_shnum * sizeof(Elf64_Shdr);
	Elf64_Shdr *items = malloc(size);
	if (!items)
		return false;
	if (!bytes->read(bytes, header->e_shoff, items, size)) {
		free(items);
		return false;
	}
	sections->items = items;
	sections->count = header->e_shnum;
	return true;
}
