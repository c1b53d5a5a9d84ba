/* SPDX-License-Identifier: Apache-2.0 */
/* See debug_unpack.h. */
#include "symbolizer/debug_unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/cleanup.h"

/* System V ABI, gABI 4.3; glibc before 2.38 lacks it. */
#define COMPRESSION_ZSTD 2u

/* Returns the decompressed size of a section that is compressed with Zstandard; 0 for others. */
static uint64_t unpacked_size(Elf_Scn *section, const GElf_Shdr *header)
{
	GElf_Chdr compression;
	bool is_packed = header->sh_flags & SHF_COMPRESSED && header->sh_type != SHT_NOBITS &&
			 gelf_getchdr(section, &compression) && compression.ch_type == COMPRESSION_ZSTD;
	return is_packed ? compression.ch_size : 0;
}

static bool has_packed(const struct elf_file *file)
{
	GElf_Shdr header;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));)
		if (gelf_getshdr(section, &header) && unpacked_size(section, &header))
			return true;
	return false;
}

/* Returns whether the contents of a section are kept. */
static bool is_kept(const struct elf_file *file, size_t number, const GElf_Shdr *header)
{
	return header->sh_type != SHT_NOBITS && !(header->sh_flags & SHF_ALLOC) &&
	       (number == file->header.e_shstrndx || elf_file_has_name_prefix(file, header, ".debug") ||
		elf_file_has_name_prefix(file, header, ".zdebug") ||
		elf_file_has_name_prefix(file, header, ".gnu_debug"));
}

/* Writes the contents of a section. Returns their size, or a negative errno. */
static int64_t write_contents(Elf_Scn *section, uint64_t unpacked, char *to, uint64_t room)
{
	const Elf_Data *raw = elf_rawdata(section, NULL);
	if (!raw || (!raw->d_buf && raw->d_size))
		return -ENOEXEC;
	if (!unpacked) {
		if (raw->d_size > room)
			return -EFBIG;
		memcpy(to, raw->d_buf, raw->d_size);
		return (int64_t)raw->d_size;
	}
	if (unpacked > room)
		return -EFBIG;
	if (raw->d_size < sizeof(Elf64_Chdr))
		return -ENOEXEC;
	size_t size = ZSTD_decompress(to, unpacked, (const char *)raw->d_buf + sizeof(Elf64_Chdr),
				      raw->d_size - sizeof(Elf64_Chdr));
	return ZSTD_isError(size) || size != unpacked ? -ENOEXEC : (int64_t)size;
}

static uint64_t align(uint64_t offset)
{
	return (offset + 15) & ~UINT64_C(15);
}

/* Returns the size of the new file, or 0 if that is too large. */
static uint64_t new_size(const struct elf_file *file, uint64_t size_max)
{
	uint64_t size = sizeof(Elf64_Ehdr) + file->header.e_shnum * sizeof(Elf64_Shdr);
	for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || !is_kept(file, elf_ndxscn(section), &header))
			continue;
		uint64_t unpacked = unpacked_size(section, &header);
		uint64_t added = unpacked ? unpacked : header.sh_size;
		if (added > size_max || align(size) > size_max - added)
			return 0;
		size = align(size) + added;
	}
	return size;
}

/* Writes headers and sections. Returns 0 or a negative errno. */
static int write_file(const struct elf_file *file, char *to, uint64_t size)
{
	Elf64_Ehdr *head = (Elf64_Ehdr *)to;
	Elf64_Shdr *headers = (Elf64_Shdr *)(to + sizeof *head);
	uint64_t used = sizeof *head + file->header.e_shnum * sizeof *headers;
	*head = file->header;
	head->e_shoff = sizeof *head;
	head->e_phoff = 0;
	head->e_phnum = 0;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
		GElf_Shdr header;
		size_t number = elf_ndxscn(section);
		if (!gelf_getshdr(section, &header) || number >= file->header.e_shnum)
			return -ENOEXEC;
		headers[number] = header;
		if (!is_kept(file, number, &header)) {
			headers[number].sh_type = header.sh_type == SHT_NULL ? SHT_NULL : SHT_NOBITS;
			headers[number].sh_offset = 0;
			continue;
		}
		uint64_t unpacked = unpacked_size(section, &header);
		used = align(used);
		int64_t written = write_contents(section, unpacked, to + used, size - used);
		if (written < 0)
			return (int)written;
		headers[number].sh_offset = used;
		headers[number].sh_size = (uint64_t)written;
		if (unpacked)
			headers[number].sh_flags &= ~(uint64_t)SHF_COMPRESSED;
		used += (uint64_t)written;
	}
	return 0;
}

int debug_unpack(struct elf_file *file, uint64_t size_max)
{
	static const unsigned char native = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? ELFDATA2MSB : ELFDATA2LSB;
	if (!has_packed(file))
		return 0;
	if (file->header.e_ident[EI_CLASS] != ELFCLASS64 || file->header.e_ident[EI_DATA] != native)
		return -ENOTSUP;
	uint64_t size = new_size(file, size_max);
	CLEANUP_FREE char *memory = size ? calloc(1, size) : NULL;
	if (!memory)
		return size ? -ENOMEM : -EFBIG;
	struct elf_file unpacked;
	int code = write_file(file, memory, size);
	if (!code)
		code = elf_file_open_memory(&unpacked, STEAL_POINTER(memory), size);
	if (code)
		return code;
	elf_file_close(file);
	*file = unpacked;
	return 0;
}
