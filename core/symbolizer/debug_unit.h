/* SPDX-License-Identifier: Apache-2.0 */
/* One compilation unit, decoded: its line table and its functions with what is inlined into them. */
#ifndef IAPROF_CORE_SYMBOLIZER_DEBUG_UNIT_H
#define IAPROF_CORE_SYMBOLIZER_DEBUG_UNIT_H

#include <elfutils/libdw.h>
#include "base/string_table.h"
#include "symbolizer/range_table.h"

/* From this address to the next row's. */
struct line_row {
	uint64_t address;
	uint32_t file; /* position in files */
	uint32_t line; /* 0 not known */
};
#define LINE_ROW_END UINT32_MAX /* as file: nothing from here on */

/* A function, or one call of a function that was inlined. */
struct debug_scope {
	const char *name; /* as in struct debug_frame */
	uint32_t parent;  /* position of what it is inlined into, always a lower one; RANGE_NONE for a function */
	uint32_t call_file, call_line;
};

/*
 * Initialise with {0}. Of a unit that was decoded, names of functions are libdw's and live until dwarf_end(), and those
 * of files are in a table; of one that the worker sent, all are in text.
 */
struct debug_unit {
	ARRAY(struct line_row) rows;
	ARRAY(const char *) files;
	struct range_table ranges; /* value: position in scopes */
	ARRAY(struct debug_scope) scopes;
	char *text; /* NULL: names are somebody else's */
	int code;   /* 0; -ENOEXEC, -ENOMEM: what was good is here */
};

/* Decode parts of the unit; line_section: the bytes of .debug_line, NULL none; files: for
 * the names of files. They return 0, -ENOEXEC (damaged: what
 * was good until there is kept) or -ENOMEM. */
int debug_unit_read_lines(struct debug_unit *unit, Dwarf_Die *die, const Elf_Data *line_section,
			  struct string_table *files);
int debug_unit_read_scopes(struct debug_unit *unit, Dwarf_Die *die);
void debug_unit_free(struct debug_unit *unit);

/* One function at an address. Strings live as long as the unit. */
struct debug_frame {
	const char *name; /* as the linker knows it if it does (mangled), else as in the source; NULL not known */
	const char *file; /* NULL not known */
	uint32_t line;    /* 0 not known */
};

/*
 * The functions at an ELF virtual address, the outermost first and what is inlined into it after. Returns how many, at
 * most capacity (the innermost are left out); 0 when there is no debug information for the address.
 */
size_t debug_unit_find(const struct debug_unit *unit, uint64_t address, struct debug_frame *frames, size_t capacity);

#endif
