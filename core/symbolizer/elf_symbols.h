/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that an ELF file names: .symtab, .dynsym, and the stubs of its procedure linkage table. */
#ifndef IAPROF_CORE_SYMBOLIZER_ELF_SYMBOLS_H
#define IAPROF_CORE_SYMBOLIZER_ELF_SYMBOLS_H

#include "symbolizer/elf_file.h"
#include "symbolizer/symbol_table.h"

/* The entries of one symbol table. */
struct elf_symbol_reader {
	Elf_Data *symbols, *names;
	bool is_64;        /* symbols are Elf64_Sym, in host byte order */
	size_t names_size; /* up to the last NUL */
	size_t count;      /* entries, the empty one at 0 included */
};

/*
 * Opens the symbol table of this type (SHT_SYMTAB, SHT_DYNSYM). Returns 1, or with a count of 0: 0 when there is none,
 * -ENOEXEC when it is damaged. What it gives belongs to the file.
 */
int elf_symbol_reader_open(struct elf_symbol_reader *reader, const struct elf_file *file, uint32_t type);
/* The entry at a position, which may be any; NULL when there is none, or its name is outside of the table of names. */
const char *elf_symbol_reader_get(const struct elf_symbol_reader *reader, size_t position, GElf_Sym *symbol);

/*
 * Adds the functions of the symbol table of this type (SHT_SYMTAB, SHT_DYNSYM). The names belong to the file until it
 * is closed. Returns how many it added, or a negative errno (-ENOEXEC: the table is damaged).
 */
long elf_symbols_add(const struct elf_file *file, uint32_t type, struct symbol_builder *builder);

/*
 * Adds "NAME@plt" for the stubs through which the file calls functions of other files. The new names go into *names,
 * which the caller frees after symbol_builder_finish(). Returns 0 or -ENOMEM; machines whose stubs are not known and
 * tables that make no sense add nothing.
 */
int elf_plt_add(const struct elf_file *file, struct symbol_builder *builder, char **names);

#endif
