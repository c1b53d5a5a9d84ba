/* SPDX-License-Identifier: Apache-2.0 */
/* See python_runtime.h. */
#include "symbolizer/python/python_runtime.h"

#include <string.h>

#include "symbolizer/elf_symbols.h"
#include "symbolizer/unwind/unwind_table.h"

#define LOOP "_PyEval_EvalFrameDefault"

struct search {
	const struct elf_file *elf;
	struct iaprof_python *python;
	GElf_Sym runtime, version, loop;
	bool has_runtime, has_version, has_greenlet;
	uint32_t newest; /* version that first had one of the functions */
};

/* Functions that a version added, for those before 3.11, which do not state their version. */
static const struct {
	const char *name;
	uint32_t version;
} added[] = {
	{ "PyCode_NewWithPosOnlyArgs", 0x0308 },
	{ "PyInterpreterState_Get", 0x0309 },
	{ "PyIter_Send", 0x030a },
};

static void take_symbol(struct search *search, const char *name, const GElf_Sym *symbol)
{
	struct iaprof_python *python = search->python;
	if (strcmp(name, "_PyRuntime") == 0) {
		search->runtime = *symbol;
		search->has_runtime = true;
	} else if (strcmp(name, "Py_Version") == 0) {
		search->version = *symbol;
		search->has_version = true;
	} else if (strcmp(name, "PyCode_Type") == 0) {
		python->code_type = symbol->st_value;
	} else if (strcmp(name, LOOP) == 0) {
		search->loop = *symbol;
		python->loop[0] = symbol->st_value;
		python->loop_end[0] = symbol->st_value + symbol->st_size;
	} else if (strcmp(name, "PyInit__greenlet") == 0 || strcmp(name, "PyInit_greenlet") == 0) {
		search->has_greenlet = true;
	} else if (strcmp(name, LOOP ".cold") == 0) {
		python->loop[1] = symbol->st_value;
		python->loop_end[1] = symbol->st_value + symbol->st_size;
	} else {
		for (size_t i = 0; i < sizeof added / sizeof *added; i++)
			if (strcmp(name, added[i].name) == 0 && added[i].version > search->newest)
				search->newest = added[i].version;
	}
}

static void take_symbols(struct search *search, uint32_t type)
{
	struct elf_symbol_reader reader;
	if (elf_symbol_reader_open(&reader, search->elf, type) != 1)
		return;
	for (size_t i = 1; i < reader.count; i++) {
		GElf_Sym symbol;
		const char *name = elf_symbol_reader_get(&reader, i, &symbol);
		if (name && symbol.st_shndx != SHN_UNDEF &&
		    (strncmp(name, "Py", 2) == 0 || strncmp(name, "_Py", 3) == 0))
			take_symbol(search, name, &symbol);
	}
}

/* Returns the bytes of a variable, and their number; NULL if the file has none. */
static const void *contents(const struct search *search, const GElf_Sym *symbol, size_t *size)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_getscn(search->elf->elf, symbol->st_shndx);
	if (!section || !gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
		return NULL;
	const Elf_Data *data = elf_file_section_data(section);
	uint64_t offset = symbol->st_value - header.sh_addr;
	if (!data || !data->d_buf || symbol->st_value < header.sh_addr || offset >= data->d_size)
		return NULL;
	*size = data->d_size - offset;
	return (const char *)data->d_buf + offset;
}

/* Limit on jumps out of the loop that are examined. */
#define JUMPS_MAX 256

struct part {
	uint64_t start, end;
	uint32_t jumps;
};

struct jumps {
	const struct iaprof_python *python;
	ARRAY(uint64_t) targets;
	struct part best;
};

static bool take_part(void *context, uint64_t start, uint64_t end)
{
	struct jumps *jumps = context;
	struct part part = { start, end, 0 };
	if (start == jumps->python->loop[0])
		return true;
	for (size_t i = 0; i < jumps->targets.count; i++)
		part.jumps += jumps->targets.items[i] >= start && jumps->targets.items[i] < end;
	if (part.jumps > jumps->best.jumps)
		jumps->best = part;
	return true;
}

/*
 * Compilers put code that is rarely executed elsewhere, with unwind information of its own and, in stripped files,
 * without a name: it is the part that most conditional jumps (x86-64: 0f 80 to 8f) lead to, for functions end by
 * unconditional ones.
 */
static void find_cold_part(const struct search *search)
{
	struct iaprof_python *python = search->python;
	struct jumps jumps = { .python = python };
	size_t size = 0;
	const uint8_t *code = contents(search, &search->loop, &size);
	if (size > search->loop.st_size)
		size = search->loop.st_size;
	for (size_t i = 0; code && i + 6 <= size && jumps.targets.count < JUMPS_MAX; i++) {
		int32_t distance;
		memcpy(&distance, code + i + 2, sizeof distance);
		uint64_t target = python->loop[0] + i + 6 + (uint64_t)(int64_t)distance;
		bool is_jump = code[i] == 0x0f && (code[i + 1] & 0xf0) == 0x80;
		if (is_jump && (target < python->loop[0] || target >= python->loop_end[0]))
			(void)!array_push(&jumps.targets, target);
	}
	if (jumps.targets.count)
		unwind_functions_each(search->elf, take_part, &jumps);
	python->loop[1] = jumps.best.start;
	python->loop_end[1] = jumps.best.end;
	array_free(&jumps.targets);
}

/* Versions from 3.11 on state their version. */
static uint32_t find_version(const struct search *search)
{
	uint64_t version;
	size_t size;
	const void *bytes = search->has_version ? contents(search, &search->version, &size) : NULL;
	if (!bytes || size < sizeof version)
		return search->newest;
	memcpy(&version, bytes, sizeof version);
	return (uint32_t)(version >> 16) & 0xffff;
}

static bool find_layout(const struct search *search)
{
	struct iaprof_python *python = search->python;
	size_t size = 0;
	if (python_layout_of_version(python))
		return true;
	const void *bytes = contents(search, &search->runtime, &size);
	return bytes && python_layout_of_offsets(python, bytes, size);
}

bool python_runtime_find(struct iaprof_python *python, const struct elf_file *elf)
{
	struct search search = { .elf = elf, .python = python };
	*python = (struct iaprof_python){ 0 };
	if (elf->header.e_machine != EM_X86_64)
		return false;
	take_symbols(&search, SHT_DYNSYM);
	if (search.has_runtime && !python->loop[1])
		take_symbols(&search, SHT_SYMTAB);
	if (!search.has_runtime || !python->loop[0]) {
		*python = (struct iaprof_python){ .flags = search.has_greenlet ? IAPROF_PYTHON_GREENLET : 0 };
		return search.has_greenlet;
	}
	if (!python->loop[1])
		find_cold_part(&search);
	python->runtime = search.runtime.st_value;
	python->version = find_version(&search);
	if (!python->code_type || !find_layout(&search))
		python->flags = IAPROF_PYTHON_UNKNOWN_LAYOUT;
	if (!python->version)
		python->version = 1;
	return true;
}
