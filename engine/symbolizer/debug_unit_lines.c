/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the line table of a compilation unit, or one without a unit: see debug_unit.h. */
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

/* Limits on nested inlined calls, deeper than any compiler's, and on all of them; a large kernel has about 20,000. */
#define INLINE_DEPTH_MAX 64
#define INLINE_COUNT_MAX ((size_t)4 << 20)
/* Limit on the sum of nested calls over all rows, each of which libdw reads a name for. */
#define INLINE_STEPS_MAX ((size_t)4 << 20)

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

/*
 * Returns a file name, prefixed with the folder of the compilation if it is relative and the unit is known; NULL if out
 * of memory.
 */
static const char *full_name(Dwarf_Die *die, const char *name, struct string_table *files)
{
	Dwarf_Attribute attribute;
	const char *folder = die && *name != '/' && dwarf_attr(die, DW_AT_comp_dir, &attribute)
				     ? dwarf_formstring(&attribute)
				     : NULL;
	CLEANUP_FREE char *joined = NULL;
	if (folder && asprintf(&joined, "%s/%s", folder, name) < 0) {
		joined = NULL;
		return NULL;
	}
	if (joined)
		name = joined;
	return string_table_intern(files, name, strnlen(name, IAPROF_STRING_LENGTH_MAX));
}

/* die: NULL for a table without a unit. */
static int read_files(struct debug_unit *unit, Dwarf_Die *die, Dwarf_Files *files, size_t count,
		      struct string_table *table)
{
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

/* Rows up to an address are moved by as much: see struct debug_placement. */
static int read_rows(struct debug_unit *unit, Dwarf_Lines *lines, size_t count, uint64_t size, uint64_t moved)
{
	for (size_t i = 0; i < count; i++) {
		struct line_row row;
		if (!read_row(unit, lines, i, &row))
			return -ENOEXEC;
		if (row.address <= size)
			row.address += moved;
		if (unit->rows.count && row.address < unit->rows.items[unit->rows.count - 1].address)
			return -ENOEXEC; /* libdw sorts them */
		if (!add_row(unit, &row))
			return -ENOMEM;
	}
	return 0;
}

int debug_unit_read_lines(struct debug_unit *unit, Dwarf_Die *die, const Elf_Data *line_section,
			  struct string_table *files, const struct debug_placement *placement)
{
	if (!has_sane_program(die, line_section))
		return -ENOEXEC;
	Dwarf_Lines *lines;
	Dwarf_Files *line_files;
	size_t count, file_count;
	bool is_low;
	/* libdw returns 1 if there is no table. */
	int result = dwarf_getsrclines(die, &lines, &count);
	if (result)
		return result < 0 ? -ENOEXEC : 0;
	if (dwarf_getsrcfiles(die, &line_files, &file_count) == 0 &&
	    read_files(unit, die, line_files, file_count, files))
		return -ENOMEM;
	bool moves = placement->size && has_one_low_sequence(lines, count, placement->size, &is_low);
	return read_rows(unit, lines, count, placement->size, moves ? placement->address : 0);
}

int debug_lines_read(Dwarf *dwarf, const Elf_Data *line_section, Dwarf_Off offset, Dwarf_Off *next,
		     struct debug_lines *lines)
{
	/* All of the section would be allocated at once. */
	if (!line_section || line_section->d_size > PROGRAM_SIZE_MAX)
		return -ENOEXEC;
	Dwarf_CU *unit = NULL;
	int result = dwarf_next_lines(dwarf, offset, next, &unit, &lines->files, &lines->file_count, &lines->rows,
				      &lines->row_count);
	if (result)
		return result < 0 ? -ENOEXEC : 0;
	return *next > offset ? 1 : -ENOEXEC;
}

/* Reads the calls that code is inlined into. */
struct inline_reader {
	struct debug_unit *unit;
	Dwarf *dwarf;
	const struct debug_lines *lines;
	ARRAY(size_t) numbered;                /* rows of the sequence, by the numbers that rows of calls have in it */
	size_t steps;                          /* so far */
	size_t depth;                          /* of the current row: 0 if nothing is inlined there */
	uint32_t scopes[INLINE_DEPTH_MAX + 1]; /* the outermost function first */
};

/* Makes a scope the next inner one, the same as in the previous row where it is equal. */
static int enter_scope(struct inline_reader *reader, size_t previous_depth, struct debug_scope scope)
{
	struct debug_unit *unit = reader->unit;
	scope.parent = reader->depth ? reader->scopes[reader->depth - 1] : RANGE_NONE;
	const struct debug_scope *same =
		reader->depth < previous_depth ? &unit->scopes.items[reader->scopes[reader->depth]] : NULL;
	if (same && same->parent == scope.parent && same->name == scope.name && same->call_file == scope.call_file &&
	    same->call_line == scope.call_line) {
		reader->depth++;
		return 0;
	}
	if (unit->scopes.count >= INLINE_COUNT_MAX)
		return -ENOEXEC;
	if (!array_push(&unit->scopes, scope))
		return -ENOMEM;
	reader->scopes[reader->depth++] = (uint32_t)unit->scopes.count - 1;
	return 0;
}

/*
 * Returns the row of the call that a row is inlined into, always an earlier one. Compilers number the rows of each
 * sequence, and count those that repeat the one before only once; libdw takes the number for one of all rows of the
 * table. Sets *row to NULL if there is none, or returns -ENOEXEC.
 */
static int find_call(const struct inline_reader *reader, Dwarf_Line **row, size_t *position)
{
	const Dwarf_Line *counted = dwarf_linecontext(reader->lines->rows, *row);
	*row = NULL;
	if (!counted)
		return 0;
	size_t number =
		array_lower_bound(reader->lines->row_count, i, dwarf_onesrcline(reader->lines->rows, i) < counted);
	if (number >= reader->numbered.count || reader->numbered.items[number] >= *position)
		return -ENOEXEC;
	*position = reader->numbered.items[number];
	*row = dwarf_onesrcline(reader->lines->rows, *position);
	return 0;
}

static int enter_scopes(struct inline_reader *reader, size_t position)
{
	struct debug_scope calls[INLINE_DEPTH_MAX];
	size_t count = 0, previous_depth = reader->depth;
	Dwarf_Line *row = dwarf_onesrcline(reader->lines->rows, position);
	reader->depth = 0;
	for (;;) {
		const char *name = dwarf_linefunctionname(reader->dwarf, row);
		Dwarf_Files *files;
		size_t file;
		int line, result = find_call(reader, &row, &position);
		if (result)
			return result;
		if (!row)
			break;
		if (++reader->steps > INLINE_STEPS_MAX || count == INLINE_DEPTH_MAX ||
		    dwarf_line_file(row, &files, &file) || dwarf_lineno(row, &line))
			return -ENOEXEC;
		calls[count++] = (struct debug_scope){ .name = name,
						       .call_file = (uint32_t)file,
						       .call_line = line > 0 ? (uint32_t)line : 0 };
	}
	/* The table does not name the function that everything is inlined into. */
	int result = count ? enter_scope(reader, previous_depth, (struct debug_scope){ 0 }) : 0;
	while (!result && count)
		result = enter_scope(reader, previous_depth, calls[--count]);
	return result;
}

static bool repeats(const struct debug_lines *lines, size_t position)
{
	Dwarf_Line *row = dwarf_onesrcline(lines->rows, position),
		   *before = dwarf_onesrcline(lines->rows, position - 1);
	Dwarf_Addr address, address_before;
	Dwarf_Files *files;
	size_t file, file_before;
	int line, line_before;
	return dwarf_lineaddr(row, &address) == 0 && dwarf_lineaddr(before, &address_before) == 0 &&
	       address == address_before && dwarf_line_file(row, &files, &file) == 0 &&
	       dwarf_line_file(before, &files, &file_before) == 0 && file == file_before &&
	       dwarf_lineno(row, &line) == 0 && dwarf_lineno(before, &line_before) == 0 && line == line_before &&
	       dwarf_linecontext(lines->rows, row) == dwarf_linecontext(lines->rows, before);
}

/* Returns -ENOEXEC if the row is damaged. */
static int read_inlined_row(struct inline_reader *reader, size_t position)
{
	Dwarf_Lines *rows = reader->lines->rows;
	Dwarf_Addr start, end;
	bool ends;
	if (dwarf_lineaddr(dwarf_onesrcline(rows, position), &start) ||
	    dwarf_lineendsequence(dwarf_onesrcline(rows, position), &ends) ||
	    dwarf_lineaddr(dwarf_onesrcline(rows, position + 1), &end))
		return -ENOEXEC;
	if (ends) {
		reader->numbered.count = 0;
		return 0;
	}
	bool is_counted = !reader->numbered.count || !repeats(reader->lines, position);
	if (is_counted && !array_push(&reader->numbered, position))
		return -ENOMEM;
	int result = start < end ? enter_scopes(reader, position) : 0;
	if (result || start >= end || !reader->depth)
		return result;
	return range_table_add(&reader->unit->ranges, start, end, reader->scopes[reader->depth - 1]) ? 0 : -ENOMEM;
}

static int read_inlined_calls(struct debug_unit *unit, Dwarf *dwarf, const struct debug_lines *lines)
{
	struct inline_reader reader = { .unit = unit, .dwarf = dwarf, .lines = lines };
	int result = 0;
	for (size_t i = 0; !result && i + 1 < lines->row_count; i++)
		result = read_inlined_row(&reader, i);
	array_free(&reader.numbered);
	range_table_sort(&unit->ranges);
	range_table_link(&unit->ranges);
	return result;
}

int debug_unit_read_table(struct debug_unit *unit, Dwarf *dwarf, const struct debug_lines *lines,
			  struct string_table *files)
{
	if (read_files(unit, NULL, lines->files, lines->file_count, files))
		return -ENOMEM;
	int result = read_rows(unit, lines->rows, lines->row_count, 0, 0);
	return result ? result : read_inlined_calls(unit, dwarf, lines);
}
