/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file opened for reading with libelf. Files are mapped, so that only the used parts of a large file are read.
 * Access to a file that is truncated while open raises SIGBUS, so other users' files are opened only in the worker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gelf.h>
#include "base/array.h"

struct elf_file {
	Elf *elf;
	int descriptor; /* -1: in memory */
	char *memory;   /* owned bytes of an image in memory; NULL: borrowed, or a file */
	uint64_t size;
	GElf_Ehdr header;
};

#define ELF_FILE_NONE ((struct elf_file){ .descriptor = -1 })

/* A loaded part of the file. */
struct elf_segment {
	uint64_t file_offset, size; /* bytes in the file */
	uint64_t address;           /* ELF virtual address */
	uint32_t executable;        /* 0 or 1 */
};
typedef ARRAY(struct elf_segment) elf_segment_array;

/*
 * Takes ownership of the descriptor (or the malloc'ed memory), even on failure. Returns 0, -ENOEXEC or another negative
 * errno.
 */
int elf_file_open(struct elf_file *file, int descriptor);
int elf_file_open_memory(struct elf_file *file, char *memory, size_t size);
/* Opens borrowed memory, which must outlive the file and must not be modified. */
int elf_file_open_borrowed(struct elf_file *file, char *memory, size_t size);
/* Leaves ELF_FILE_NONE, on which it does nothing. */
void elf_file_close(struct elf_file *file);

/* Closes the descriptor once all required data was read. */
void elf_file_forget_descriptor(struct elf_file *file);

/* Returns the size of the GNU build id in bytes, 0 if there is none. */
size_t elf_file_build_id(const struct elf_file *file, const uint8_t **build_id);
/*
 * Returns whether the section name table ends with a NUL. If it does not, libelf searches the whole table for the end
 * of every name.
 */
bool elf_file_names_end(const struct elf_file *file);
/* Returns whether a section's name has this prefix. */
bool elf_file_has_name_prefix(const struct elf_file *file, const GElf_Shdr *header, const char *prefix);
/* Returns the section with this name, or of this type if name is NULL; NULL if none. */
Elf_Scn *elf_file_section(const struct elf_file *file, const char *name, uint32_t type, GElf_Shdr *header);
/* Returns the contents of a section (in host byte order); NULL: none, compressed, or too large. */
Elf_Data *elf_file_section_data(Elf_Scn *section);
/* Lists the loaded segments, in order of the program headers. Returns false if out of memory. */
bool elf_file_segments(const struct elf_file *file, elf_segment_array *segments);
/* Returns the ELF virtual address of a file offset; false if that offset is not loaded. */
bool elf_segments_address(const elf_segment_array *segments, uint64_t file_offset, uint64_t *address);
