/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines and inlined functions from DWARF. Each compilation unit is decoded once, when an address first falls
 * into it, into sorted arrays; libdw's own search, which decodes again and again, is not used.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_DEBUG_INFO_H
#define IAPROF_CORE_SYMBOLIZER_DEBUG_INFO_H

#include "symbolizer/debug_file.h"
#include "symbolizer/elf_file.h"

struct debug_info;

/* One function at an address. Strings live as long as the debug info. */
struct debug_frame {
	const char *name; /* as the linker knows it if it does (mangled), else as in the source; NULL not known */
	const char *file; /* NULL not known */
	uint32_t line;    /* 0 not known */
};

/* Whether a file has debug information (the place of which may also be left empty by objcopy). */
bool debug_info_exists(const struct elf_file *file);
/*
 * Takes the file over. place: where to look for the file that it shares debug information with (dwz), NULL nowhere.
 * Returns NULL when it cannot be used: damaged, too large, the shared file is missing, or out of memory.
 */
struct debug_info *debug_info_new(struct elf_file *file, const struct image_place *place);
void debug_info_free(struct debug_info *info);

/*
 * The functions at an ELF virtual address, the outermost first and what is inlined into it after. Returns how many, at
 * most capacity (the innermost are left out); 0 when there is no debug information for the address.
 */
size_t debug_info_find(struct debug_info *info, uint64_t address, struct debug_frame *frames, size_t capacity);

/* Units that could not be decoded. */
uint64_t debug_info_failed(const struct debug_info *info);

#endif
