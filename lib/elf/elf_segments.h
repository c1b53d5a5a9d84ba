/* SPDX-License-Identifier: Apache-2.0 */
/* Program headers of untrusted ELF files, and where code is in the file. See elf_reader.h. */
#pragma once

#include "elf/elf_reader.h"

struct elf_segments {
	Elf64_Phdr *items; /* freed with free() */
	size_t count;
};

/* Returns whether the file has program headers of the usual size. */
bool elf_segments_read(const struct elf_reader *bytes, const Elf64_Ehdr *header, struct elf_segments *segments);

/* Returns the file offset of an address, or 0 if it is not code in the file. */
uint64_t elf_code_offset(const struct elf_reader *bytes, const struct elf_segments *segments, uint64_t address);

/* Returns a copy of a part of the file, which the caller frees, or NULL. The caller limits the size. */
void *elf_part_read(const struct elf_reader *bytes, uint64_t offset, uint64_t size);
