/* SPDX-License-Identifier: Apache-2.0 */
/* See thread_context.h. Relocations: System V ABI, AMD64 Architecture Processor Supplement, 4.4. */
#include "symbolizer/thread_context.h"

#include <stdbool.h>
#include <string.h>

#include "symbolizer/elf_symbols.h"

#define VARIABLE "otel_thread_ctx_v1"
#define POINTER_SIZE 8u
/* A symbol that no relocation refers to. */
#define NO_POSITION SIZE_MAX

/* Finds the program header of this type. */
static bool find_header(const struct elf_file *elf, uint32_t type, GElf_Phdr *header)
{
	size_t count;
	if (elf_getphdrnum(elf->elf, &count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf->elf, (int)i, header) && header->p_type == type)
			return true;
	return false;
}

/* Returns the position of the variable in the symbol table of this type, 0 if it has none. */
static size_t find_symbol(const struct elf_file *elf, uint32_t type, GElf_Sym *symbol)
{
	struct elf_symbol_reader reader;
	if (elf_symbol_reader_open(&reader, elf, type) != 1)
		return 0;
	for (size_t i = 1; i < reader.count; i++) {
		const char *name = elf_symbol_reader_get(&reader, i, symbol);
		if (name && symbol->st_shndx != SHN_UNDEF && GELF_ST_TYPE(symbol->st_info) == STT_TLS &&
		    strcmp(name, VARIABLE) == 0)
			return i;
	}
	return 0;
}

/*
 * Returns the position of the variable in .dynsym, 0 if there is none. Programs that do not export it, as the proposal
 * requires, are common, because their linker has to be told to: .symtab shows where it is.
 */
static size_t find_variable(const struct elf_file *elf, bool is_program, GElf_Sym *symbol)
{
	size_t position = find_symbol(elf, SHT_DYNSYM, symbol);
	if (position || !is_program)
		return position;
	return find_symbol(elf, SHT_SYMTAB, symbol) ? NO_POSITION : 0;
}

/*
 * Takes a relocation that fills a slot for the variable. Without a symbol (-Bsymbolic), the offset shows which variable
 * of the file is meant; a relocation for a module has none.
 */
static void take_relocation(struct iaprof_thread_context *context, const GElf_Rela *relocation, size_t position,
			    const GElf_Sym *symbol)
{
	size_t wanted = GELF_R_SYM(relocation->r_info);
	bool is_own = wanted == 0 && (uint64_t)relocation->r_addend == symbol->st_value;
	uint32_t access = IAPROF_THREAD_CONTEXT_NONE;
	switch (GELF_R_TYPE(relocation->r_info)) {
	case R_X86_64_TPOFF64:
		access = wanted == position || is_own ? IAPROF_THREAD_CONTEXT_STATIC : IAPROF_THREAD_CONTEXT_NONE;
		break;
	case R_X86_64_TLSDESC:
		access = wanted == position || is_own ? IAPROF_THREAD_CONTEXT_DESCRIPTOR : IAPROF_THREAD_CONTEXT_NONE;
		break;
	case R_X86_64_DTPMOD64:
		access = wanted == position ? IAPROF_THREAD_CONTEXT_MODULE : IAPROF_THREAD_CONTEXT_NONE;
		break;
	default:
		break;
	}
	/* All slots lead to the same variable. */
	if (access && relocation->r_offset) {
		context->access = access;
		context->slot = relocation->r_offset;
	}
}

static void find_slot(struct iaprof_thread_context *context, const struct elf_file *elf, size_t position,
		      const GElf_Sym *symbol)
{
	GElf_Shdr header;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf->elf, section)) && !context->slot;) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA || !(header.sh_flags & SHF_ALLOC))
			continue;
		Elf_Data *data = elf_file_section_data(section);
		size_t count = data ? data->d_size / gelf_fsize(elf->elf, ELF_T_RELA, 1, EV_CURRENT) : 0;
		GElf_Rela relocation;
		for (size_t i = 0; i < count && i <= INT32_MAX && !context->slot; i++)
			if (gelf_getrela(data, (int)i, &relocation))
				take_relocation(context, &relocation, position, symbol);
	}
}

/* Returns enum iaprof_thread_context_flag of a C library by its name; of others, 0. */
static uint32_t library_flag(const char *library)
{
	static const struct {
		const char *name;
		uint32_t flag;
	} names[] = { { "libc.so.6", IAPROF_THREAD_CONTEXT_GLIBC },
		      { "ld-linux-x86-64.so.2", IAPROF_THREAD_CONTEXT_GLIBC },
		      { "libc.so", IAPROF_THREAD_CONTEXT_MUSL },
		      { "libc.musl-x86_64.so.1", IAPROF_THREAD_CONTEXT_MUSL } };
	for (size_t i = 0; library && i < sizeof names / sizeof *names; i++)
		if (strcmp(library, names[i].name) == 0)
			return names[i].flag;
	return 0;
}

/* Looks whether the file is a program, not a library, and which C library it is part of or uses. */
static void read_kind(const struct elf_file *elf, bool *is_program, uint32_t *flags)
{
	GElf_Phdr interpreter;
	GElf_Shdr header;
	GElf_Dyn entry;
	*is_program = elf->header.e_type == ET_EXEC || find_header(elf, PT_INTERP, &interpreter);
	*flags = 0;
	Elf_Data *data = elf_file_section_data(elf_file_section(elf, NULL, SHT_DYNAMIC, &header));
	for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
		if (entry.d_tag == DT_FLAGS_1)
			*is_program |= (entry.d_un.d_val & DF_1_PIE) != 0;
		else if (entry.d_tag == DT_NEEDED || entry.d_tag == DT_SONAME)
			*flags |= library_flag(elf_strptr(elf->elf, header.sh_link, entry.d_un.d_val));
	}
}

/*
 * The thread-local block of the program's own file ends at the thread pointer, as close as its alignment allows: the
 * linker has put this offset into the code.
 */
static void find_offset(struct iaprof_thread_context *context, const GElf_Phdr *block, const GElf_Sym *symbol)
{
	uint64_t align = block->p_align ? block->p_align : 1;
	if (align & (align - 1) || align > UINT32_MAX)
		return;
	uint64_t size = block->p_memsz + ((0 - block->p_vaddr - block->p_memsz) & (align - 1));
	context->access = IAPROF_THREAD_CONTEXT_OFFSET;
	context->offset = (int64_t)symbol->st_value - (int64_t)size;
}

void thread_context_find(struct iaprof_thread_context *context, const struct elf_file *elf)
{
	GElf_Phdr block;
	GElf_Sym symbol;
	bool is_program;
	*context = (struct iaprof_thread_context){ 0 };
	/* Most files have no thread-local block. */
	if (elf->header.e_machine != EM_X86_64 || elf->header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    !find_header(elf, PT_TLS, &block))
		return;
	read_kind(elf, &is_program, &context->flags);
	size_t position = find_variable(elf, is_program, &symbol);
	if (!position)
		return;
	context->access = IAPROF_THREAD_CONTEXT_UNKNOWN;
	if (block.p_memsz > UINT32_MAX || block.p_memsz < POINTER_SIZE ||
	    symbol.st_value > block.p_memsz - POINTER_SIZE)
		return;
	find_slot(context, elf, position, &symbol);
	if (!context->slot && is_program)
		find_offset(context, &block, &symbol);
}
