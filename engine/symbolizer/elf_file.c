/* SPDX-License-Identifier: Apache-2.0 */
/* See elf_file.h. */
#include "symbolizer/elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <elfutils/libdwelf.h>

/* The largest programs (browsers, tensor libraries with debug information) have about 200 MiB of symbol names. */
#define SECTION_SIZE_MAX ((uint64_t)512 << 20)

/* 65,279 sections with names of 1,000 bytes. */
#define SECTION_NAMES_SIZE_MAX ((uint64_t)64 << 20)

/* libelf allocates for each section that the header claims; executables have far fewer than the 16-bit limit. */
static bool has_sane_counts(const struct elf_file *file)
{
	size_t segment_count;
	if (elf_getphdrnum(file->elf, &segment_count) || segment_count >= PN_XNUM)
		return false;
	return file->header.e_shoff == 0 || file->header.e_shnum != 0;
}

static int begin(struct elf_file *file)
{
	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &file->header) ||
	    !has_sane_counts(file)) {
		elf_file_close(file);
		return -ENOEXEC;
	}
	return 0;
}

/*
 * Returns whether e_shnum is 0 although there are sections, which means more than 65,279 of them; only relocatable
 * objects have that many. Such a file is refused before libelf sees it, which would allocate memory for as many
 * sections as a sparse file can claim.
 */
static bool has_extended_numbering(int descriptor)
{
	union {
		unsigned char identification[EI_NIDENT];
		Elf32_Ehdr header_32;
		Elf64_Ehdr header_64;
	} start = { 0 };
	if (pread(descriptor, &start, sizeof start, 0) < (ssize_t)sizeof start.header_32)
		return false;
	/* Zero is zero in both byte orders. */
	if (start.identification[EI_CLASS] == ELFCLASS64)
		return start.header_64.e_shoff && !start.header_64.e_shnum;
	return start.header_32.e_shoff && !start.header_32.e_shnum;
}

int elf_file_open(struct elf_file *file, int descriptor)
{
	*file = (struct elf_file){ .descriptor = descriptor };
	struct stat status;
	if (fstat(descriptor, &status)) {
		int code = -errno;
		elf_file_close(file);
		return code;
	}
	file->size = (uint64_t)status.st_size;
	elf_version(EV_CURRENT);
	if (!has_extended_numbering(descriptor))
		file->elf = elf_begin(descriptor, ELF_C_READ_MMAP, NULL);
	return begin(file);
}

int elf_file_open_memory(struct elf_file *file, char *memory, size_t size)
{
	*file = (struct elf_file){ .descriptor = -1, .memory = memory, .size = size };
	elf_version(EV_CURRENT);
	file->elf = elf_memory(memory, size);
	return begin(file);
}

int elf_file_open_borrowed(struct elf_file *file, char *memory, size_t size)
{
	*file = (struct elf_file){ .descriptor = -1, .size = size };
	elf_version(EV_CURRENT);
	file->elf = elf_memory(memory, size);
	return begin(file);
}

void elf_file_close(struct elf_file *file)
{
	elf_end(file->elf);
	if (file->descriptor >= 0)
		close(file->descriptor);
	free(file->memory);
	*file = ELF_FILE_NONE;
}

void elf_file_forget_descriptor(struct elf_file *file)
{
	if (file->descriptor < 0)
		return;
	elf_cntl(file->elf, ELF_C_FDDONE);
	close(file->descriptor);
	file->descriptor = -1;
}

size_t elf_file_build_id(const struct elf_file *file, const uint8_t **build_id)
{
	const void *bits = NULL;
	ssize_t size = dwelf_elf_gnu_build_id(file->elf, &bits);
	*build_id = bits;
	return size > 0 && bits ? (size_t)size : 0;
}

/* Returns the section name table, or NULL. */
static Elf_Data *section_names(const struct elf_file *file)
{
	size_t position;
	if (elf_getshdrstrndx(file->elf, &position))
		return NULL;
	Elf_Data *names = elf_rawdata(elf_getscn(file->elf, position), NULL);
	return names && names->d_buf && names->d_size <= SECTION_NAMES_SIZE_MAX ? names : NULL;
}

bool elf_file_names_end(const struct elf_file *file)
{
	Elf_Data *names = section_names(file);
	return names && names->d_size && !((const char *)names->d_buf)[names->d_size - 1];
}

/* elf_strptr() is not used because it searches the table for the end of each name. */
static bool has_name(const Elf_Data *names, size_t offset, const char *name, size_t size)
{
	return offset < names->d_size && size <= names->d_size - offset &&
	       memcmp((const char *)names->d_buf + offset, name, size) == 0;
}

bool elf_file_has_name_prefix(const struct elf_file *file, const GElf_Shdr *header, const char *prefix)
{
	const Elf_Data *names = section_names(file);
	return names && has_name(names, header->sh_name, prefix, strlen(prefix));
}

Elf_Scn *elf_file_section(const struct elf_file *file, const char *name, uint32_t type, GElf_Shdr *header)
{
	const Elf_Data *names = name ? section_names(file) : NULL;
	size_t size = name ? strlen(name) + 1 : 0;
	if (name && !names)
		return NULL;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));)
		if (gelf_getshdr(section, header) &&
		    (name ? has_name(names, header->sh_name, name, size) : header->sh_type == type))
			return section;
	return NULL;
}

Elf_Data *elf_file_section_data(Elf_Scn *section)
{
	GElf_Shdr header;
	if (!section || !gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
	    header.sh_flags & SHF_COMPRESSED || header.sh_size > SECTION_SIZE_MAX)
		return NULL;
	Elf_Data *data = elf_getdata(section, NULL);
	return data && data->d_buf ? data : NULL;
}

bool elf_file_segments(const struct elf_file *file, elf_segment_array *segments)
{
	size_t count;
	if (elf_getphdrnum(file->elf, &count))
		return true;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_LOAD)
			continue;
		struct elf_segment segment = { .file_offset = header.p_offset,
					       .size = header.p_filesz,
					       .address = header.p_vaddr,
					       .executable = header.p_flags & PF_X };
		if (!array_push(segments, segment))
			return false;
	}
	return true;
}

bool elf_segments_address(const elf_segment_array *segments, uint64_t file_offset, uint64_t *address)
{
	const struct elf_segment *found = NULL;
	for (size_t i = 0; i < segments->count; i++) {
		const struct elf_segment *segment = &segments->items[i];
		if (file_offset < segment->file_offset || file_offset - segment->file_offset >= segment->size)
			continue;
		/* Segments can share a page of the file: prefer code. */
		if (!found || (segment->executable && !found->executable))
			found = segment;
	}
	if (!found)
		return false;
	*address = found->address + (file_offset - found->file_offset);
	return true;
}
