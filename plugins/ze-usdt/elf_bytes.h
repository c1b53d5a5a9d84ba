/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small reader of ELF files that anybody may have written: the sections, and what ze-usdt has to know of two kinds of
 * files. 64-bit little-endian only, as everything that has to do with Intel GPUs is.
 */
#ifndef IAPROF_ZE_USDT_ELF_BYTES_H
#define IAPROF_ZE_USDT_ELF_BYTES_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the bytes come from: pread() of a file, or memory. Returns whether all size bytes at offset could be read. */
struct elf_bytes {
	bool (*read)(const struct elf_bytes *bytes, uint64_t offset, void *buffer, size_t size);
	uint64_t size;
	const void *memory;
	int descriptor;
};

struct elf_bytes elf_bytes_of_memory(const void *memory, uint64_t size);
struct elf_bytes elf_bytes_of_file(int descriptor, uint64_t size);

struct elf_sections {
	Elf64_Ehdr header;
	Elf64_Shdr *items; /* freed with free() */
	size_t count;
};

/* Reads the header and at most limit section headers. False when this is no such file, or a damaged one. */
bool elf_sections_read(const struct elf_bytes *bytes, size_t limit, struct elf_sections *sections);

enum provider_probe {
	PROVIDER_LAUNCH_KERNEL = 0,
	PROVIDER_EXECUTE_LIST = 1,
	PROVIDER_COMPILE_KERNEL = 2,
	PROVIDER_UNLOAD_MODULE = 3,
	PROVIDER_PROBE_COUNT
};

/* The most places in one file where a probe may be fired. A compiler's copies of one place are places of their own. */
#define PROVIDER_SITES_MAX 64u

/* How many places of a file fire each probe of provider level_zero (probes.h). */
struct provider {
	uint32_t sites[PROVIDER_PROBE_COUNT];
};

/* Looks into .note.stapsdt. False when the file has no such probe, or has more than PROVIDER_SITES_MAX of one. */
bool provider_find(const struct elf_bytes *bytes, struct provider *provider);

/* The name that a probe has in the file. */
const char *provider_probe_name(enum provider_probe probe);

/*
 * Device addresses have 48 bits, or 57; the runtime writes them with bit 47 or 56 repeated in the bits above, which
 * this takes away.
 */
static inline uint64_t canonical_form_remove(uint64_t address)
{
	if (address >> 48 == 0xffff)
		return address & ((UINT64_C(1) << 48) - 1);
	return address & ((UINT64_C(1) << 57) - 1);
}

/* Where an image of device code says that its code is. */
struct code_range {
	uint32_t machine; /* ELF machine number */
	uint64_t address; /* lowest address of a section with code, canonical (sign-extended) form removed */
	uint64_t size;    /* up to the highest; both are 0 when the image is not bound to addresses */
};

/* False when the image is no ELF file. */
bool code_range_find(const struct elf_bytes *bytes, struct code_range *range);

#endif
