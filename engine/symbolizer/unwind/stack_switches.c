/* SPDX-License-Identifier: Apache-2.0 */
/* See stack_switches.h. */
#include "symbolizer/unwind/stack_switches.h"

#include <string.h>
#include <iaprof/unwind.h>

#include "symbolizer/elf_symbols.h"

#define SUFFIX ".abi0" /* of functions in assembler */

static const struct {
	const char *name;
	uint8_t cfa;
} switches[] = {
	{ "runtime.asmcgocall", IAPROF_UNWIND_CFA_SWITCHED }, /* calls C, on the stack of the thread */
	{ "runtime.systemstack", IAPROF_UNWIND_CFA_SWITCHED },
	{ "runtime.nanotime1", IAPROF_UNWIND_CFA_SWITCHED }, /* these call the vDSO */
	{ "runtime.walltime", IAPROF_UNWIND_CFA_SWITCHED },
	{ "time.now", IAPROF_UNWIND_CFA_SWITCHED },
	{ "runtime.mcall", IAPROF_UNWIND_CFA_END },     /* the scheduler, after the goroutine has stopped */
	{ "runtime.morestack", IAPROF_UNWIND_CFA_END }, /* moves the goroutine's stack, and continues there */
	{ "runtime.mstart", IAPROF_UNWIND_CFA_END },    /* the first function of a thread */
};

/* Returns how to leave a function; IAPROF_UNWIND_CFA_NONE if it is another one. */
static uint8_t switch_of(const char *name)
{
	for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
		size_t length = strlen(switches[i].name);
		if (strncmp(name, switches[i].name, length) == 0 &&
		    (!name[length] || strcmp(name + length, SUFFIX) == 0))
			return switches[i].cfa;
	}
	return IAPROF_UNWIND_CFA_NONE;
}

typedef bool use_switch(void *context, uint64_t start, uint64_t end, uint8_t cfa);

/* Returns false if use did. */
static bool use_function(const char *name, uint64_t start, uint64_t size, use_switch *use, void *context)
{
	uint8_t cfa = size && start <= UINT64_MAX - size ? switch_of(name) : IAPROF_UNWIND_CFA_NONE;
	return !cfa || use(context, start, start + size, cfa);
}

static void use_symbols(struct elf_symbol_reader *reader, use_switch *use, void *context)
{
	for (size_t i = 1; i < reader->count; i++) {
		GElf_Sym symbol;
		const char *name = elf_symbol_reader_get(reader, i, &symbol);
		if (name && symbol.st_shndx != SHN_UNDEF &&
		    !use_function(name, symbol.st_value, symbol.st_size, use, context))
			return;
	}
}

/*
 * The table of functions that stripped programs have, too, from Go 1.18 on: pcHeader and functab of runtime/symtab.go.
 * Programs that are relocated when they start have no address of their code in it.
 */
struct function_header {
	uint32_t magic;
	uint8_t pad[2], quantum, pointer_size;
	uint64_t functions, files, text, names, units, file_names, tables, entries; /* the last five are offsets */
};
#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

static uint32_t read_half(const Elf_Data *data, uint64_t offset)
{
	uint32_t value = 0;
	if (offset <= data->d_size && data->d_size - offset >= sizeof value)
		memcpy(&value, (const uint8_t *)data->d_buf + offset, sizeof value);
	return value;
}

static void use_functions(const Elf_Data *data, use_switch *use, void *context)
{
	struct function_header header;
	if (!data || !data->d_buf || data->d_size < sizeof header)
		return;
	memcpy(&header, data->d_buf, sizeof header);
	bool is_known = (header.magic == MAGIC_1_18 || header.magic == MAGIC_1_20) && header.pointer_size == 8;
	if (!is_known || !header.text || header.entries > data->d_size || header.names > data->d_size ||
	    header.functions > (data->d_size - header.entries) / 8)
		return;
	for (uint64_t i = 0; i < header.functions; i++) {
		uint64_t entry = header.entries + 8 * i;
		uint32_t start = read_half(data, entry), end = read_half(data, entry + 8);
		uint64_t name = header.names + read_half(data, header.entries + read_half(data, entry + 4) + 4);
		const char *text = (const char *)data->d_buf + name;
		if (end > start && name < data->d_size && memchr(text, '\0', data->d_size - name) &&
		    !use_function(text, header.text + start, end - start, use, context))
			return;
	}
}

void stack_switches_each(const struct elf_file *elf, use_switch *use, void *context)
{
	GElf_Shdr header;
	struct elf_symbol_reader reader;
	Elf_Scn *section = elf_file_section(elf, ".gopclntab", 0, &header);
	if (!section)
		section = elf_file_section(elf, ".data.rel.ro.gopclntab", 0, &header);
	if (!section || elf->header.e_machine != EM_X86_64)
		return;
	if (elf_symbol_reader_open(&reader, elf, SHT_SYMTAB) == 1)
		use_symbols(&reader, use, context);
	else if (header.sh_type != SHT_NOBITS)
		use_functions(elf_file_section_data(section), use, context);
}
