/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the kernels that can reach each function outside of kernels' sections: see code_image.h. Code refers to a
 * function of another section through a relocation with the function's symbol. References from the section of a kernel
 * are the kernel's; those from other sections are of the function around them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolizer/device/code_image.h"
#include "symbolizer/elf_symbols.h"

struct call {
	uint32_t caller, callee; /* positions of functions; caller CODE_NONE: unknown */
};

struct call_graph {
	struct code_image *image;
	const struct code_table *table;
	const struct elf_file *file;
	struct elf_symbol_reader symbols;
	ARRAY(struct call) calls;   /* sorted by caller */
	ARRAY(struct call) reached; /* kernels and the functions that they reach */
	ARRAY(uint32_t) pending;    /* functions whose calls are to be followed */
	struct caller_state {
		uint32_t newest; /* the kernel that reached it last */
		uint32_t count;  /* of kernels that reach it; beyond CODE_CALLERS_MAX: unknown */
	} * states;              /* by function */
};

static int compare(const void *left, const void *right)
{
	const struct call *a = left, *b = right;
	if (a->caller != b->caller)
		return a->caller < b->caller ? -1 : 1;
	return a->callee < b->callee ? -1 : a->callee > b->callee;
}

/* Returns the function around an offset in a section, or the kernel of the section; CODE_NONE if there is none. */
static uint32_t function_at(const struct call_graph *graph, uint32_t section, uint64_t offset)
{
	struct code_location location;
	if (offset >= graph->image->sections.items[section].size ||
	    !code_table_find(graph->table, graph->image->sections.items[section].address + offset, &location))
		return CODE_NONE;
	const struct code_function *function = location.kernel ? location.kernel : location.function;
	return (uint32_t)(function - graph->image->functions.items);
}

static uint32_t position_of(const struct code_image *image, size_t number)
{
	return number < image->section_numbers.count ? image->section_numbers.items[number] : CODE_NONE;
}

/* Returns the function that a symbol names, if it is outside of kernels' sections; otherwise CODE_NONE. */
static uint32_t callee_of(const struct call_graph *graph, size_t symbol_number)
{
	GElf_Sym symbol;
	if (!elf_symbol_reader_get(&graph->symbols, symbol_number, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
		return CODE_NONE;
	uint32_t section = position_of(graph->image, symbol.st_shndx);
	if (section == CODE_NONE || graph->image->sections.items[section].kernel != CODE_NONE)
		return CODE_NONE;
	uint32_t function = function_at(graph, section, symbol.st_value - graph->image->file_addresses.items[section]);
	return function != CODE_NONE && !graph->image->functions.items[function].is_kernel ? function : CODE_NONE;
}

/* Adds the references of one relocation section. Returns false if out of memory. */
static bool add_calls(struct call_graph *graph, Elf_Scn *section, const GElf_Shdr *header)
{
	uint32_t from = position_of(graph->image, header->sh_info);
	Elf_Data *data = elf_file_section_data(section);
	bool has_addend = header->sh_type == SHT_RELA;
	size_t entry_size = gelf_fsize(graph->file->elf, has_addend ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
	size_t count = data ? data->d_size / entry_size : 0;
	for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
		GElf_Rela relocation = { 0 };
		GElf_Rel without_addend;
		if (has_addend ? !gelf_getrela(data, (int)i, &relocation) : !gelf_getrel(data, (int)i, &without_addend))
			continue;
		if (!has_addend)
			relocation = (GElf_Rela){ without_addend.r_offset, without_addend.r_info, 0 };
		struct call call = { .callee = callee_of(graph, GELF_R_SYM(relocation.r_info)) };
		if (call.callee == CODE_NONE)
			continue;
		/* A function whose address is in data may be called by any kernel. */
		call.caller = from == CODE_NONE ? CODE_NONE : function_at(graph, from, relocation.r_offset);
		if (!array_push(&graph->calls, call))
			return false;
	}
	return true;
}

/* Returns false if out of memory. */
static bool read_calls(struct call_graph *graph, size_t section_names)
{
	for (Elf_Scn *section = NULL; (section = elf_nextscn(graph->file->elf, section));) {
		GElf_Shdr header, target;
		if (!gelf_getshdr(section, &header) || (header.sh_type != SHT_RELA && header.sh_type != SHT_REL))
			continue;
		Elf_Scn *relocated = elf_getscn(graph->file->elf, header.sh_info);
		const char *name = relocated && gelf_getshdr(relocated, &target)
					   ? elf_strptr(graph->file->elf, section_names, target.sh_name)
					   : NULL;
		if (name && strncmp(name, ".debug_", 7) != 0 && !add_calls(graph, section, &header))
			return false;
	}
	if (graph->calls.count)
		qsort(graph->calls.items, graph->calls.count, sizeof *graph->calls.items, compare);
	return true;
}

static const struct call *first_call(const struct call_graph *graph, uint32_t caller)
{
	size_t first = 0, end = graph->calls.count;
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		if (graph->calls.items[middle].caller < caller)
			first = middle + 1;
		else
			end = middle;
	}
	return graph->calls.items + first;
}

/* Notes that a kernel reaches a function; CODE_NONE: any may. Returns whether its calls are to be followed. */
static bool reach(struct call_graph *graph, uint32_t kernel, uint32_t function)
{
	struct caller_state *state = &graph->states[function];
	if (state->count > CODE_CALLERS_MAX || (state->count && state->newest == kernel))
		return false;
	state->newest = kernel;
	state->count = kernel == CODE_NONE ? CODE_CALLERS_MAX + 1 : state->count + 1;
	return true;
}

/* Adds a kernel to all functions that it reaches. Returns false if out of memory. */
static bool follow(struct call_graph *graph, uint32_t kernel)
{
	if (!graph->calls.count)
		return true;
	const struct call *end = graph->calls.items + graph->calls.count;
	bool done = array_push(&graph->pending, kernel);
	while (done && graph->pending.count) {
		uint32_t caller = graph->pending.items[--graph->pending.count];
		for (const struct call *call = first_call(graph, caller); done && call < end && call->caller == caller;
		     call++)
			if (reach(graph, kernel, call->callee))
				done = array_push(&graph->reached, ((struct call){ kernel, call->callee })) &&
				       array_push(&graph->pending, call->callee);
	}
	return done;
}

static int compare_callees(const void *left, const void *right)
{
	const struct call *a = left, *b = right;
	return a->callee != b->callee ? a->callee < b->callee ? -1 : 1 : compare(left, right);
}

/* Gives each function its kernels, unless there are unknown ones. Returns false if out of memory. */
static bool set_callers(struct call_graph *graph)
{
	struct code_image *image = graph->image;
	if (!array_reserve(&image->callers, graph->reached.count))
		return false;
	if (graph->reached.count)
		qsort(graph->reached.items, graph->reached.count, sizeof *graph->reached.items, compare_callees);
	for (size_t i = 0; i < graph->reached.count; i++) {
		struct code_function *callee = &image->functions.items[graph->reached.items[i].callee];
		if (graph->states[graph->reached.items[i].callee].count > CODE_CALLERS_MAX)
			continue;
		if (!callee->caller_count++)
			callee->callers = image->callers.items + image->callers.count;
		image->callers.items[image->callers.count++] = graph->reached.items[i].caller;
	}
	return true;
}

int code_image_find_callers(struct code_image *image, const struct code_table *table, const struct elf_file *file)
{
	struct call_graph graph = { .image = image, .table = table, .file = file };
	size_t section_names;
	if (elf_getshdrstrndx(file->elf, &section_names) ||
	    elf_symbol_reader_open(&graph.symbols, file, SHT_SYMTAB) < 0)
		return 0; /* damage that reading the symbols has counted */
	graph.states = calloc(image->functions.count + 1, sizeof *graph.states);
	bool done = graph.states && read_calls(&graph, section_names) && follow(&graph, CODE_NONE);
	for (size_t i = 0; done && graph.calls.count && i < image->functions.count; i++)
		done = !image->functions.items[i].is_kernel || follow(&graph, (uint32_t)i);
	done = done && set_callers(&graph);
	array_free(&graph.calls);
	array_free(&graph.reached);
	array_free(&graph.pending);
	free(graph.states);
	return done ? 0 : -ENOMEM;
}
