/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file that is open for reading, through libelf. Files are mapped: of a large one only what is looked at is
 * read. A file that its owner truncates meanwhile raises SIGBUS, so other users' files are opened in the worker only.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_ELF_FILE_H
#define IAPROF_CORE_SYMBOLIZER_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gelf.h>
#include "base/array.h"

struct elf_file {
	Elf *elf;
	int descriptor; /* -1: in memory */
	char *memory;   /* of an image in memory; freed with it; NULL when somebody else owns it */
	uint64_t size;
	GElf_Ehdr header;
};

#define ELF_FILE_NONE ((struct elf_file){ .descriptor = -1 })

/* A part of the file that is loaded. */
struct elf_segment {
	uint64_t file_offset, size; /* bytes in the file */
	uint64_t address;           /* ELF virtual address */
	uint32_t executable;        /* 0 or 1 */
};
typedef ARRAY(struct elf_segment) elf_segment_array;

/* Takes the descriptor (or the malloc'ed memory) over, also on failure. Returns 0, -ENOEXEC or another negative errno.
 */
int elf_file_open(struct elf_file *file, int descriptor);
int elf_file_open_memory(struct elf_file *file, char *memory, size_t size);
/* Memory that stays its owner's and outlives the file; nobody writes to it meanwhile. */
int elf_file_open_borrowed(struct elf_file *file, char *memory, size_t size);
/* Leaves ELF_FILE_NONE, on which it does nothing. */
void elf_file_close(struct elf_file *file);

/* Closes the descriptor when everything that will be used was read. */
void elf_file_forget_descriptor(struct elf_file *file);

/* The GNU build id: its size in bytes, 0 none. */
size_t elf_file_build_id(const struct elf_file *file, const uint8_t **build_id);
/* Whether the names of its sections can be searched by others: libelf looks for the end of each one. */
bool elf_file_names_end(const struct elf_file *file);
/* Whether a section's name begins so. */
bool elf_file_has_name_prefix(const struct elf_file *file, const GElf_Shdr *header, const char *prefix);
/* The section with this name, or of this type when name is NULL; NULL none. */
Elf_Scn *elf_file_section(const struct elf_file *file, const char *name, uint32_t type, GElf_Shdr *header);
/* A section's bytes as they are used (in host byte order); NULL: none, compressed, or larger than any sane one. */
Elf_Data *elf_file_section_data(Elf_Scn *section);
/* The loaded segments, in order of the program headers. False when out of memory. */
bool elf_file_segments(const struct elf_file *file, elf_segment_array *segments);
/* The ELF virtual address of a place in the file; false when nothing is loaded from there. */
bool elf_segments_address(const elf_segment_array *segments, uint64_t file_offset, uint64_t *address);

#endif
