/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the section headers of untrusted ELF files. Only 64-bit little-endian files, such as those of Intel GPUs and of
 * x86-64 libraries.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Source of the bytes: pread() of a file, or memory. read() returns whether all size bytes at offset could be read. */
struct elf_reader {
	bool (*read)(const struct elf_reader *bytes, uint64_t offset, void *buffer, size_t size);
	uint64_t size;
	const void *memory;
	int descriptor;
};

struct elf_reader elf_reader_of_memory(const void *memory, uint64_t size);
struct elf_reader elf_reader_of_file(int descriptor, uint64_t size);

struct elf_sections {
	Elf64_Ehdr header;
	Elf64_Shdr *items; /* freed with free() */
	size_t count;
};

/* Reads the file header. Returns false for a file of another kind. */
bool elf_header_read(const struct elf_reader *bytes, Elf64_Ehdr *header);

/* Reads the header and at most limit section headers. Returns false for a file of another kind or a damaged one. */
bool elf_sections_read(const struct elf_reader *bytes, size_t limit, struct elf_sections *sections);
