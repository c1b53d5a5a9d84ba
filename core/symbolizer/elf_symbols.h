/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that an ELF file names: .symtab, .dynsym, and the stubs of its procedure linkage table. */
#ifndef IAPROF_CORE_SYMBOLIZER_ELF_SYMBOLS_H
#define IAPROF_CORE_SYMBOLIZER_ELF_SYMBOLS_H

#include "symbolizer/elf_file.h"
#include "symbolizer/symbol_table.h"

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
