/* SPDX-License-Identifier: Apache-2.0 */
/* A decoded compilation unit: its line table and its functions, including inlined functions. */
#pragma once

#include <elfutils/libdw.h>
#include "base/string_table.h"
#include "symbolizer/range_table.h"

/* A row covers the addresses up to that of the next row. */
struct line_row {
	uint64_t address;
	uint32_t file; /* position in files */
	uint32_t line; /* 0 if unknown */
};
#define LINE_ROW_END UINT32_MAX /* as file: no line information from here on */

/* A function, or one inlined call of a function. */
struct debug_scope {
	const char *name; /* as in struct debug_frame */
	uint32_t parent;  /* position of the scope it is inlined into, always a lower one; RANGE_NONE for a function */
	uint32_t call_file, call_line;
};

/*
 * Initialise with {0}. In a decoded unit, names of functions belong to libdw and are valid until dwarf_end(), and names
 * of files are in a table; in a unit received from the worker, all names are in text.
 */
struct debug_unit {
	ARRAY(struct line_row) rows;
	ARRAY(const char *) files;
	struct range_table ranges; /* value: position in scopes */
	ARRAY(struct debug_scope) scopes;
	char *text; /* NULL: names are not owned by the unit */
	int code;   /* 0; -ENOEXEC, -ENOMEM: contains only the valid part */
};

/*
 * Where a unit belongs: an address beyond its size. Addresses of the unit that were not relocated, [0, size], are moved
 * there. Size 0: nothing is moved.
 */
struct debug_placement {
	uint64_t address, size;
};

/*
 * Decode parts of a unit. line_section: contents of .debug_line, NULL if none; files: table for file names. They return
 * 0, -ENOEXEC (damaged: the valid part before the damage is kept) or -ENOMEM.
 */
int debug_unit_read_lines(struct debug_unit *unit, Dwarf_Die *die, const Elf_Data *line_section,
			  struct string_table *files, const struct debug_placement *placement);
int debug_unit_read_scopes(struct debug_unit *unit, Dwarf_Die *die, const struct debug_placement *placement);
void debug_unit_free(struct debug_unit *unit);

/*
 * A line table without a unit, which is all that compilers of device code write unless they compile for a debugger.
 * Everything belongs to libdw.
 */
struct debug_lines {
	Dwarf_Files *files;
	Dwarf_Lines *rows; /* sorted by address */
	size_t file_count, row_count;
};
/* Reads the table at an offset of .debug_line. Returns 1, 0 if there are no more, or -ENOEXEC; *next: the next offset.
 */
int debug_lines_read(Dwarf *dwarf, const Elf_Data *line_section, Dwarf_Off offset, Dwarf_Off *next,
		     struct debug_lines *lines);
/*
 * Decodes such a table. Rows of inlined code name its function and the row of the call, in an extension of DWARF;
 * the function around it has no name here. Returns as debug_unit_read_lines().
 */
int debug_unit_read_table(struct debug_unit *unit, Dwarf *dwarf, const struct debug_lines *lines,
			  struct string_table *files);

/* A function of a unit that was not relocated. */
struct debug_function {
	const char *name; /* as in struct debug_frame; never NULL */
	uint64_t start, end;
};
typedef ARRAY(struct debug_function) debug_function_array;

/* Lists the functions of a unit that have code. Returns 0, -ENOEXEC or -ENOMEM. */
int debug_unit_list_functions(Dwarf_Die *die, debug_function_array *functions);
/*
 * Returns whether the line table of a unit fits an unrelocated unit of this size: no sequence begins below the size, or
 * exactly one does and ends at it.
 */
bool debug_unit_lines_fit(Dwarf_Die *die, const Elf_Data *line_section, uint64_t size);

/* One function at an address. Strings live as long as the unit. */
struct debug_frame {
	const char *name; /* linkage name (mangled) if there is one, otherwise as in the source; NULL if unknown */
	const char *file; /* NULL if unknown */
	uint32_t line;    /* 0 if unknown */
};

/*
 * Finds the functions at an ELF virtual address, the outermost first, followed by the functions inlined into it.
 * Returns their number, at most capacity (the innermost are omitted); 0 if there is no debug information for the
 * address.
 */
size_t debug_unit_find(const struct debug_unit *unit, uint64_t address, struct debug_frame *frames, size_t capacity);
