/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of an ELF file: .symtab, .dynsym, and the stubs of its procedure linkage table. */
#pragma once

#include "symbolizer/elf_file.h"
#include "symbolizer/symbol_table.h"

/* One symbol table. */
struct elf_symbol_reader {
	Elf_Data *symbols, *names;
	bool is_64;        /* symbols are Elf64_Sym, in host byte order */
	size_t names_size; /* size up to the last NUL */
	size_t count;      /* number of entries, including the empty one at 0 */
};

/*
 * Opens the symbol table of this type (SHT_SYMTAB, SHT_DYNSYM). Returns 1; or 0 if there is none and -ENOEXEC if it is
 * damaged, both with a count of 0. Results are owned by the file.
 */
int elf_symbol_reader_open(struct elf_symbol_reader *reader, const struct elf_file *file, uint32_t type);
/*
 * Returns the name of the entry at any position; NULL if there is no such entry, or if its name is outside the string
 * table.
 */
const char *elf_symbol_reader_get(const struct elf_symbol_reader *reader, size_t position, GElf_Sym *symbol);

/*
 * Adds the functions of the symbol table of this type (SHT_SYMTAB, SHT_DYNSYM). The names are owned by the file and
 * valid until it is closed. Returns the number of added functions, or a negative errno (-ENOEXEC: damaged table).
 */
long elf_symbols_add(const struct elf_file *file, uint32_t type, struct symbol_builder *builder);

/*
 * Adds "NAME@plt" for the stubs that call functions of other files. *names receives the new names, which the caller
 * frees after symbol_builder_finish(). Returns 0 or -ENOMEM; adds nothing for unsupported machines and malformed
 * tables.
 */
int elf_plt_add(const struct elf_file *file, struct symbol_builder *builder, char **names);
