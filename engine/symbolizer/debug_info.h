/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines and inlined functions from DWARF. Each compilation unit is decoded once, when an address first falls
 * into it, into sorted arrays; libdw's own search is not used because it decodes repeatedly.
 */
#pragma once

#include "symbolizer/debug_file.h"
#include "symbolizer/debug_unit.h"
#include "symbolizer/elf_file.h"

struct debug_info;

/* Returns whether a file has debug information (objcopy may leave empty sections). */
bool debug_info_exists(const struct elf_file *file);
/* Returns whether a file has line tables, of units or without any. */
bool debug_lines_exist(const struct elf_file *file);
/*
 * Takes ownership of the file. finder: opens the file with shared debug information (dwz); NULL: not available. Returns
 * NULL if it cannot be used: corrupt, too large, shared file missing (sets lacks_shared), or out of memory.
 */
struct debug_info *debug_info_new(struct elf_file *file, const struct debug_file_finder *finder, bool *lacks_shared);
void debug_info_free(struct debug_info *info);

/*
 * Returns the address at which a unit of this size with these functions belongs, beyond its size; 0: none, or several.
 */
typedef uint64_t debug_unit_place(void *context, const struct debug_function *functions, size_t count, uint64_t size);
/*
 * Places the units that begin at 0, where no code is, because they were not relocated. Returns the number of units that
 * stay unknown: place() finds no address, or that of another unit, or their lines are ambiguous.
 */
uint64_t debug_info_place(struct debug_info *info, debug_unit_place *place, void *context);

/* Calls debug_unit_find() on the unit that covers the address. */
size_t debug_info_find(struct debug_info *info, uint64_t address, struct debug_frame *frames, size_t capacity);

/* The number of units that cover addresses, and their ranges, whose values are positions of units. */
size_t debug_info_unit_count(const struct debug_info *info);
const struct range_table *debug_info_unit_ranges(const struct debug_info *info);
/* Returns a unit, which is decoded on first use; NULL for an invalid position. */
const struct debug_unit *debug_info_unit(struct debug_info *info, uint32_t position);
/* Frees the decoded data of a unit. */
void debug_info_forget_unit(struct debug_info *info, uint32_t position);

/* Returns the number of units that could not be decoded. */
uint64_t debug_info_failed(const struct debug_info *info);
