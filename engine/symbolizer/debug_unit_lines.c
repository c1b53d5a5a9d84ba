/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the line table of a compilation unit: see debug_unit.h. */
#include "symbolizer/debug_unit.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>
#include <iaprof/record.h>
#include "base/cleanup.h"

/*
 * libdw allocates about 50 bytes for each byte of a line program, all at once. The longest programs of real units have
 * about 5 MiB.
 */
#define PROGRAM_SIZE_MAX ((uint64_t)16 << 20)

/* Returns whether the line program of the unit has a plausible size. */
static bool has_sane_program(Dwarf_Die *die, const Elf_Data *section)
{
	Dwarf_Attribute attribute;
	Dwarf_Word offset;
	uint32_t length;
	if (!section || !dwarf_attr(die, DW_AT_stmt_list, &attribute) || dwarf_formudata(&attribute, &offset))
		return true; /* no program at all */
	if (section->d_size < sizeof length || offset > section->d_size - sizeof length)
		return false;
	/*
	 * 0xffffffff marks a 64-bit length, which no unit needs. For a limit, the smaller value of both byte orders
	 * suffices.
	 */
	memcpy(&length, (const char *)section->d_buf + offset, sizeof length);
	uint32_t swapped = __builtin_bswap32(length);
	return (length < swapped ? length : swapped) <= PROGRAM_SIZE_MAX || section->d_size <= PROGRAM_SIZE_MAX;
}

/* Returns a file name, prefixed with the folder of the compilation if it is relative; NULL if out of memory. */
static const char *full_name(Dwarf_Die *die, const char *name, struct string_table *files)
{
	Dwarf_Attribute attribute;
	const char *folder =
		*name != '/' && dwarf_attr(die, DW_AT_comp_dir, &attribute) ? dwarf_formstring(&attribute) : NULL;
	CLEANUP_FREE char *joined = NULL;
	if (folder && asprintf(&joined, "%s/%s", folder, name) < 0) {
		joined = NULL;
		return NULL;
	}
	if (joined)
		name = joined;
	return string_table_intern(files, name, strnlen(name, IAPROF_STRING_LENGTH_MAX));
}

static int read_files(struct debug_unit *unit, Dwarf_Die *die, struct string_table *table)
{
	Dwarf_Files *files;
	size_t count;
	if (dwarf_getsrcfiles(die, &files, &count))
		return 0;
	if (!array_reserve(&unit->files, count))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const char *name = dwarf_filesrc(files, i, NULL, NULL);
		const char *full = name ? full_name(die, name, table) : NULL;
		if (name && !full)
			return -ENOMEM;
		unit->files.items[unit->files.count++] = full;
	}
	return 0;
}

/*
 * Adds a row, in order of address. If several rows have the same address, the last one applies, because only it covers
 * any addresses.
 */
static bool add_row(struct debug_unit *unit, const struct line_row *row)
{
	struct line_row *last = unit->rows.count ? &unit->rows.items[unit->rows.count - 1] : NULL;
	if (last && last->address == row->address) {
		*last = *row;
		return true;
	}
	if (last && last->file == row->file && last->line == row->line)
		return true;
	return array_push(&unit->rows, *row);
}

/* Reads one row of libdw's table. Returns false if it is damaged. */
static bool read_row(const struct debug_unit *unit, Dwarf_Lines *lines, size_t position, struct line_row *row)
{
	Dwarf_Line *line = dwarf_onesrcline(lines, position);
	Dwarf_Files *line_files;
	Dwarf_Addr address;
	size_t file;
	int number;
	bool end;
	if (!line || dwarf_lineaddr(line, &address) || dwarf_lineendsequence(line, &end))
		return false;
	*row = (struct line_row){ .address = address, .file = LINE_ROW_END };
	if (!end && dwarf_line_file(line, &line_files, &file) == 0 && dwarf_lineno(line, &number) == 0) {
		row->file = file < unit->files.count ? (uint32_t)file : LINE_ROW_END;
		row->line = number > 0 ? (uint32_t)number : 0;
	}
	return true;
}

/*
 * Returns whether exactly one sequence begins below a size, and ends at it; libdw sorts rows by address, so it comes
 * first. The rows of several would be mixed. *is_low: whether any begins there.
 */
static bool has_one_low_sequence(Dwarf_Lines *lines, size_t count, uint64_t size, bool *is_low)
{
	bool ended = false;
	*is_low = false;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		Dwarf_Addr address;
		bool end;
		if (!line || dwarf_lineaddr(line, &address) || dwarf_lineendsequence(line, &end))
			return false;
		if (ended || (!i && address >= size))
			return ended && address > size;
		*is_low = true;
		ended = end && address == size;
		if (end && !ended)
			return false;
	}
	return ended;
}

bool debug_unit_lines_fit(Dwarf_Die *die, const Elf_Data *line_section, uint64_t size)
{
	Dwarf_Lines *lines;
	size_t count;
	bool is_low;
	if (!has_sane_program(die, line_section) || dwarf_getsrclines(die, &lines, &count))
		return true; /* there are no lines that could be wrong */
	return has_one_low_sequence(lines, count, size, &is_low) || !is_low;
}

int debug_unit_read_lines(struct debug_unit *unit, Dwarf_Die *die, const Elf_Data *line_section,
			  struct string_table *files, const struct debug_placement *placement)
{
	if (!has_sane_program(die, line_section))
		return -ENOEXEC;
	Dwarf_Lines *lines;
	size_t count;
	bool is_low;
	/* libdw returns 1 if there is no table. */
	int result = dwarf_getsrclines(die, &lines, &count);
	if (result)
		return result < 0 ? -ENOEXEC : 0;
	if (read_files(unit, die, files))
		return -ENOMEM;
	bool moves = placement->size && has_one_low_sequence(lines, count, placement->size, &is_low);
	for (size_t i = 0; i < count; i++) {
		struct line_row row;
		if (!read_row(unit, lines, i, &row))
			return -ENOEXEC;
		if (moves && row.address <= placement->size)
			row.address += placement->address;
		if (unit->rows.count && row.address < unit->rows.items[unit->rows.count - 1].address)
			return -ENOEXEC; /* libdw sorts them */
		if (!add_row(unit, &row))
			return -ENOMEM;
	}
	return 0;
}
