/* SPDX-License-Identifier: Apache-2.0 */
/* See debug_info.h. */
#include "symbolizer/debug_info.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include "base/cleanup.h"
#include "symbolizer/debug_unit.h"
#include "symbolizer/debug_unpack.h"

/* Limit on decompressed debug sections. */
#define HEAP_SIZE_MAX ((uint64_t)1 << 30)

/* Limit on unit ranges; the largest programs have about 1,000,000. Many units could refer to one long list. */
#define RANGE_COUNT_MAX ((size_t)16 << 20)

struct unit_entry {
	Dwarf_Off die;                    /* in .debug_info; if only lines exist: the table in .debug_line */
	struct debug_placement placement; /* size 0: it was relocated */
	bool decoded;
	struct debug_unit unit;
};

struct debug_info {
	struct elf_file file, shared_file;
	Dwarf *dwarf, *shared;
	Elf_Data *line_section;         /* NULL if none */
	bool has_units;                 /* otherwise, only lines exist */
	struct range_table unit_ranges; /* value: position in units */
	size_t ranges_seen;
	ARRAY(struct unit_entry) units;
	ARRAY(struct unit_entry) units_at_zero;
	struct string_table strings; /* names of source files */
	uint64_t failed;
};

static bool has_section(const struct elf_file *file, const char *name, const char *compressed_name)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_file_section(file, name, 0, &header);
	if (!section)
		section = elf_file_section(file, compressed_name, 0, &header);
	return section && header.sh_type != SHT_NOBITS && header.sh_size;
}

bool debug_info_exists(const struct elf_file *file)
{
	return has_section(file, ".debug_info", ".zdebug_info");
}

bool debug_lines_exist(const struct elf_file *file)
{
	return has_section(file, ".debug_line", ".zdebug_line");
}

void debug_info_free(struct debug_info *info)
{
	if (!info)
		return;
	for (size_t i = 0; i < info->units.count; i++)
		debug_unit_free(&info->units.items[i].unit);
	array_free(&info->units);
	array_free(&info->units_at_zero);
	range_table_free(&info->unit_ranges);
	string_table_free(&info->strings);
	dwarf_end(info->dwarf);
	dwarf_end(info->shared);
	elf_file_close(&info->file);
	elf_file_close(&info->shared_file);
	free(info);
}

/* Returns the decompressed size of a section in bytes; 0 if it is not compressed. */
static uint64_t unpacked_size(const struct elf_file *file, Elf_Scn *section, const GElf_Shdr *header)
{
	GElf_Chdr compression;
	if (header->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(section, &compression) ? compression.ch_size : 0;
	/* .zdebug_*: "ZLIB" and the size in big-endian order (the GNU format before SHF_COMPRESSED). */
	Elf_Data *data = elf_file_has_name_prefix(file, header, ".zdebug_") ? elf_rawdata(section, NULL) : NULL;
	if (!data || !data->d_buf || data->d_size < 12 || memcmp(data->d_buf, "ZLIB", 4) != 0)
		return 0;
	uint64_t size;
	memcpy(&size, (const char *)data->d_buf + 4, sizeof size);
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? size : __builtin_bswap64(size);
}

/* Opens the DWARF of a file, unless its decompressed size exceeds the limit. */
static Dwarf *open_dwarf(struct elf_file *file)
{
	uint64_t heap_size = 0;
	if (!elf_file_names_end(file) || debug_unpack(file, HEAP_SIZE_MAX))
		return NULL;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS || header.sh_flags & SHF_ALLOC)
			continue;
		uint64_t size = unpacked_size(file, section, &header);
		if (size > HEAP_SIZE_MAX - heap_size)
			return NULL;
		heap_size += size;
	}
	return dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
}

/*
 * dwz moves data that several files share into another file. libdw would open whatever path the section contains, even
 * a FIFO, so the file is found here, and must have the build id in the section.
 */
static bool open_shared(struct debug_info *info, const struct debug_file_finder *finder, bool *is_missing)
{
	GElf_Shdr header;
	if (!elf_file_section(&info->file, ".gnu_debugaltlink", 0, &header) &&
	    !elf_file_section(&info->file, ".zgnu_debugaltlink", 0, &header))
		return true;
	const char *name;
	const void *build_id;
	ssize_t size = dwelf_dwarf_gnu_debugaltlink(info->dwarf, &name, &build_id);
	if (size <= 0 || !finder || debug_file_open_shared(&info->shared_file, name, build_id, (size_t)size, finder)) {
		*is_missing = true;
		return false;
	}
	info->shared = open_dwarf(&info->shared_file);
	if (!info->shared)
		return false;
	dwarf_setalt(info->dwarf, info->shared);
	return true;
}

/* Records the addresses that a unit covers. Returns false if out of memory, or if there are too many. */
static bool add_unit(struct debug_info *info, Dwarf_Off offset)
{
	Dwarf_Die die;
	if (!dwarf_offdie(info->dwarf, offset, &die) ||
	    (dwarf_tag(&die) != DW_TAG_compile_unit && dwarf_tag(&die) != DW_TAG_skeleton_unit))
		return true;
	struct unit_entry entry = { .die = offset };
	Dwarf_Addr base, start, end;
	bool covers = false;
	for (ptrdiff_t next = 0; (next = dwarf_ranges(&die, next, &base, &start, &end)) > 0;) {
		if (++info->ranges_seen > RANGE_COUNT_MAX)
			return false;
		if (start >= end || start == 0)
			continue;
		if (!range_table_add(&info->unit_ranges, start, end, (uint32_t)info->units.count))
			return false;
		covers = true;
	}
	if (covers)
		return array_push(&info->units, entry);
	/* Units whose ranges are listed rely on a base address that relocation would have set. */
	if (dwarf_lowpc(&die, &start) || start || dwarf_highpc(&die, &end) || !end)
		return true;
	entry.placement.size = end;
	return array_push(&info->units_at_zero, entry);
}

static bool read_units(struct debug_info *info)
{
	Dwarf_Off offset = 0, next;
	size_t header_size;
	while (dwarf_nextcu(info->dwarf, offset, &next, &header_size, NULL, NULL, NULL) == 0 && next > offset) {
		if (!add_unit(info, offset + header_size))
			return false;
		offset = next;
	}
	range_table_sort(&info->unit_ranges);
	range_table_link(&info->unit_ranges);
	return true;
}

/* Records the addresses that a line table without a unit covers. Returns false if out of memory. */
static bool add_table(struct debug_info *info, Dwarf_Off offset, const struct debug_lines *lines)
{
	struct unit_entry entry = { .die = offset };
	Dwarf_Addr start = 0, address;
	bool begins = true, ends, covers = false;
	for (size_t i = 0; i < lines->row_count; i++) {
		Dwarf_Line *row = dwarf_onesrcline(lines->rows, i);
		if (dwarf_lineaddr(row, &address) || dwarf_lineendsequence(row, &ends))
			return true;
		start = begins ? address : start;
		begins = ends;
		/* A sequence at 0 was not relocated. */
		if (!ends || !start || start >= address)
			continue;
		if (!range_table_add(&info->unit_ranges, start, address, (uint32_t)info->units.count))
			return false;
		covers = true;
	}
	return !covers || array_push(&info->units, entry);
}

static bool read_tables(struct debug_info *info)
{
	struct debug_lines lines;
	Dwarf_Off offset = 0, next;
	int result;
	while ((result = debug_lines_read(info->dwarf, info->line_section, offset, &next, &lines)) > 0) {
		if (!add_table(info, offset, &lines))
			return false;
		offset = next;
	}
	info->failed += result < 0;
	range_table_sort(&info->unit_ranges);
	range_table_link(&info->unit_ranges);
	return true;
}

struct debug_info *debug_info_new(struct elf_file *file, const struct debug_file_finder *finder, bool *lacks_shared)
{
	struct debug_info *info = calloc(1, sizeof *info);
	if (!info) {
		elf_file_close(file);
		return NULL;
	}
	info->file = *file;
	info->shared_file = ELF_FILE_NONE;
	*file = ELF_FILE_NONE;
	info->has_units = debug_info_exists(&info->file);
	info->dwarf = open_dwarf(&info->file);
	/* By now, libdw has decompressed it if necessary. */
	GElf_Shdr header;
	if (info->dwarf)
		info->line_section = elf_file_section_data(elf_file_section(&info->file, ".debug_line", 0, &header));
	if (!info->dwarf || !open_shared(info, finder, lacks_shared) ||
	    !(info->has_units ? read_units(info) : read_tables(info))) {
		debug_info_free(info);
		return NULL;
	}
	/* By now, libdw has read or mapped all sections that it uses. */
	elf_file_forget_descriptor(&info->file);
	elf_file_forget_descriptor(&info->shared_file);
	return info;
}

/* Returns the address of a unit at 0, or 0 if it is unknown. */
static uint64_t find_address(struct debug_info *info, const struct unit_entry *entry, debug_unit_place *place,
			     void *context)
{
	Dwarf_Die die;
	debug_function_array functions = { 0 };
	uint64_t size = entry->placement.size, address = 0;
	if (dwarf_offdie(info->dwarf, entry->die, &die) && debug_unit_lines_fit(&die, info->line_section, size) &&
	    debug_unit_list_functions(&die, &functions) == 0)
		address = place(context, functions.items, functions.count, size);
	array_free(&functions);
	return address > size && address <= UINT64_MAX - size ? address : 0;
}

/* Collects the ranges of all units, and of those at 0 where they would be placed. Returns false if out of memory. */
static bool collect_ranges(const struct debug_info *info, struct range_table *all)
{
	bool added = true;
	for (size_t i = 0; i < info->unit_ranges.count; i++)
		added &= range_table_add(all, info->unit_ranges.items[i].start, info->unit_ranges.items[i].end,
					 RANGE_NONE);
	for (size_t i = 0; i < info->units_at_zero.count; i++) {
		const struct debug_placement *placement = &info->units_at_zero.items[i].placement;
		if (placement->address)
			added &= range_table_add(all, placement->address, placement->address + placement->size,
						 (uint32_t)i);
	}
	range_table_sort(all);
	return added;
}

/* Adds the units that overlap no other one. */
static uint64_t add_placed(struct debug_info *info, const struct range_table *all)
{
	uint64_t placed = 0, reach = 0;
	for (size_t i = 0; i < all->count; i++) {
		const struct range *range = &all->items[i];
		bool overlaps = range->start < reach || (i + 1 < all->count && range[1].start < range->end);
		reach = range->end > reach ? range->end : reach;
		placed += !overlaps && range->value != RANGE_NONE &&
			  range_table_add(&info->unit_ranges, range->start, range->end, (uint32_t)info->units.count) &&
			  array_push(&info->units, info->units_at_zero.items[range->value]);
	}
	range_table_sort(&info->unit_ranges);
	range_table_link(&info->unit_ranges);
	return placed;
}

uint64_t debug_info_place(struct debug_info *info, debug_unit_place *place, void *context)
{
	if (!info->units_at_zero.count)
		return 0;
	for (size_t i = 0; i < info->units_at_zero.count; i++) {
		struct unit_entry *entry = &info->units_at_zero.items[i];
		entry->placement.address = find_address(info, entry, place, context);
	}
	CLEANUP(range_table_free) struct range_table all = { 0 };
	return info->units_at_zero.count - (collect_ranges(info, &all) ? add_placed(info, &all) : 0);
}

uint64_t debug_info_failed(const struct debug_info *info)
{
	return info->failed;
}

static int decode_unit(struct debug_info *info, struct unit_entry *entry)
{
	Dwarf_Die die;
	if (!dwarf_offdie(info->dwarf, entry->die, &die))
		return 0;
	int lines_code =
		debug_unit_read_lines(&entry->unit, &die, info->line_section, &info->strings, &entry->placement);
	int scopes_code = debug_unit_read_scopes(&entry->unit, &die, &entry->placement);
	return lines_code ? lines_code : scopes_code;
}

static int decode_table(struct debug_info *info, struct unit_entry *entry)
{
	struct debug_lines lines;
	Dwarf_Off next;
	if (debug_lines_read(info->dwarf, info->line_section, entry->die, &next, &lines) <= 0)
		return -ENOEXEC;
	return debug_unit_read_table(&entry->unit, info->dwarf, &lines, &info->strings);
}

static void decode(struct debug_info *info, struct unit_entry *entry)
{
	entry->decoded = true;
	entry->unit.code = info->has_units ? decode_unit(info, entry) : decode_table(info, entry);
	info->failed += entry->unit.code != 0;
}

size_t debug_info_unit_count(const struct debug_info *info)
{
	return info->units.count;
}

const struct range_table *debug_info_unit_ranges(const struct debug_info *info)
{
	return &info->unit_ranges;
}

const struct debug_unit *debug_info_unit(struct debug_info *info, uint32_t position)
{
	if (position >= info->units.count)
		return NULL;
	struct unit_entry *entry = &info->units.items[position];
	if (!entry->decoded)
		decode(info, entry);
	return &entry->unit;
}

void debug_info_forget_unit(struct debug_info *info, uint32_t position)
{
	struct unit_entry *entry = &info->units.items[position];
	debug_unit_free(&entry->unit);
	entry->unit = (struct debug_unit){ 0 };
	entry->decoded = false;
}

size_t debug_info_find(struct debug_info *info, uint64_t address, struct debug_frame *frames, size_t capacity)
{
	const struct range *found = range_table_find(&info->unit_ranges, address);
	return found ? debug_unit_find(debug_info_unit(info, found->value), address, frames, capacity) : 0;
}
