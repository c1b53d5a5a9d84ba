/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file that is open for reading, through libelf. Other users' files are read with pread, never mapped: a file
 * that its owner truncates while we read gives an error, not SIGBUS. Only the sections that are asked for are read.
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
	bool executable;
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

/*
 * Maps the file instead of reading it, if only root could truncate it: for debug information, which can be larger than
 * memory. Forgets what was read before. False when it stays as it is.
 */
bool elf_file_map(struct elf_file *file);
/* Closes the descriptor when everything that will be used was read. */
void elf_file_forget_descriptor(struct elf_file *file);

/* The GNU build id: its size in bytes, 0 none. */
size_t elf_file_build_id(const struct elf_file *file, const uint8_t **build_id);
/* The section with this name, or of this type when name is NULL; NULL none. */
Elf_Scn *elf_file_section(const struct elf_file *file, const char *name, uint32_t type, GElf_Shdr *header);
/* A section's bytes as they are used (in host byte order); NULL: none, compressed, or larger than any sane one. */
Elf_Data *elf_file_section_data(Elf_Scn *section);
/* The loaded segments, in order of the program headers. False when out of memory. */
bool elf_file_segments(const struct elf_file *file, elf_segment_array *segments);

#endif
