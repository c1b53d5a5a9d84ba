/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines and inlined functions from DWARF. Each compilation unit is decoded once, when an address first falls
 * into it, into sorted arrays; libdw's own search, which decodes again and again, is not used.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_DEBUG_INFO_H
#define IAPROF_CORE_SYMBOLIZER_DEBUG_INFO_H

#include "symbolizer/debug_file.h"
#include "symbolizer/debug_unit.h"
#include "symbolizer/elf_file.h"

struct debug_info;

/* Whether a file has debug information (the place of which may also be left empty by objcopy). */
bool debug_info_exists(const struct elf_file *file);
/*
 * Takes the file over. finder: opens the file that it shares debug information with (dwz), NULL nowhere.
 * Returns NULL when it cannot be used: damaged, too large, the shared file is missing, or out of memory.
 */
struct debug_info *debug_info_new(struct elf_file *file, const struct debug_file_finder *finder);
void debug_info_free(struct debug_info *info);

/* debug_unit_find() in the unit that covers the address. */
size_t debug_info_find(struct debug_info *info, uint64_t address, struct debug_frame *frames, size_t capacity);

/* Units that cover addresses, and which: the values are positions of units. */
size_t debug_info_unit_count(const struct debug_info *info);
const struct range_table *debug_info_unit_ranges(const struct debug_info *info);
/* A unit, decoded when it is asked for first; NULL for a position that is none. */
const struct debug_unit *debug_info_unit(struct debug_info *info, uint32_t position);
/* Frees what was decoded of a unit. */
void debug_info_forget_unit(struct debug_info *info, uint32_t position);

/* Units that could not be decoded. */
uint64_t debug_info_failed(const struct debug_info *info);

#endif
