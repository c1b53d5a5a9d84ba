/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the functions of a code object: see code_image.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>
#include "symbolizer/device/code_image.h"
#include "symbolizer/elf_symbols.h"

#define SECTION_PREFIX ".text."

/* Adds the function of a symbol; an unknown size stays 0. Returns false if out of memory. */
static bool add_function(struct code_image *image, const char *name, const GElf_Sym *symbol)
{
	uint32_t number = symbol->st_shndx < image->section_numbers.count
				  ? image->section_numbers.items[symbol->st_shndx]
				  : CODE_NONE;
	uint64_t base = number == CODE_NONE ? 0 : image->file_addresses.items[number];
	if (number == CODE_NONE || !*name || symbol->st_value < base ||
	    symbol->st_value - base >= image->sections.items[number].size) {
		image->damage.symbols++;
		return true;
	}
	const struct code_section *section = &image->sections.items[number];
	uint64_t offset = symbol->st_value - base;
	struct code_function function = { .address = section->address + offset,
					  .size = symbol->st_size,
					  .section = number };
	if (function.size > section->size - offset) {
		function.size = section->size - offset;
		image->damage.clamped++;
	}
	function.name = string_table_intern(image->strings, name, strnlen(name, IAPROF_STRING_LENGTH_MAX));
	return function.name && array_push(&image->functions, function);
}

static int read_symbols(struct code_image *image, const struct elf_file *file)
{
	struct elf_symbol_reader reader;
	int code = elf_symbol_reader_open(&reader, file, SHT_SYMTAB);
	if (!code) /* stripped: a shared object still exports its kernels */
		code = elf_symbol_reader_open(&reader, file, SHT_DYNSYM);
	if (code < 0)
		image->damage.parts++;
	for (size_t i = 1; i < reader.count; i++) {
		GElf_Sym symbol = { 0 };
		const char *name = elf_symbol_reader_get(&reader, i, &symbol);
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
			continue;
		if (!add_function(image, name ? name : "", &symbol))
			return -ENOMEM;
	}
	return 0;
}

/* Adds functions at addresses that the decoder reported, in addition to symbols. */
static int add_described(struct code_image *image)
{
	for (size_t i = 0; i < image->description->functions.count; i++) {
		const struct described_function *described = &image->description->functions.items[i];
		uint32_t number = described->section < image->section_numbers.count
					  ? image->section_numbers.items[described->section]
					  : CODE_NONE;
		if (!described->section)
			continue;
		if (number == CODE_NONE || described->offset >= image->sections.items[number].size) {
			image->damage.symbols++;
			continue;
		}
		const struct code_section *section = &image->sections.items[number];
		uint64_t left = section->size - described->offset;
		struct code_function function = { .name = described->name,
						  .address = section->address + described->offset,
						  .size = described->size < left ? described->size : left,
						  .section = number,
						  .is_kernel = described->is_kernel,
						  .is_described = true };
		image->damage.clamped += described->size > left;
		if (!array_push(&image->functions, function))
			return -ENOMEM;
	}
	return 0;
}

/* Sorts the decoder's description of a function before its symbols. */
static int compare_names(const void *left, const void *right)
{
	const struct code_function *a = left, *b = right;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	int order = strcmp(a->name, b->name);
	return order ? order : (int)b->is_described - (int)a->is_described;
}

/* Merges the decoder's description with a symbol of the same name at the same address. */
static void merge_described(struct code_image *image)
{
	struct code_function *items = image->functions.items;
	size_t kept = 0;
	if (image->functions.count)
		qsort(items, image->functions.count, sizeof *items, compare_names);
	for (size_t i = 0; i < image->functions.count; i++) {
		struct code_function *before = kept ? &items[kept - 1] : NULL;
		if (!before || !before->is_described || before->address != items[i].address ||
		    strcmp(before->name, items[i].name) != 0) {
			items[kept++] = items[i];
			continue;
		}
		before->size = before->size ? before->size : items[i].size;
		before->is_kernel |= items[i].is_kernel;
		before->is_described = items[i].is_described; /* a second symbol is rejected, as without a decoder */
	}
	image->functions.count = kept;
}

/* At one address, sorts kernels first, then the longest function. */
static int compare(const void *left, const void *right)
{
	const struct code_function *a = left, *b = right;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->is_kernel != b->is_kernel)
		return a->is_kernel ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Keeps one function for each address. */
static void remove_duplicates(struct code_image *image)
{
	struct code_function *items = image->functions.items;
	size_t kept = 0;
	for (size_t i = 0; i < image->functions.count; i++)
		if (kept && items[kept - 1].address == items[i].address)
			image->damage.symbols++;
		else
			items[kept++] = items[i];
	image->functions.count = kept;
}

/*
 * A function ends as stated by its symbol, and may be nested in another one. A function without a size ends at the next
 * function, as does one that overlaps the next without containing it.
 */
static void clamp(struct code_image *image)
{
	struct code_function *items = image->functions.items;
	for (size_t i = 0; i < image->functions.count; i++) {
		struct code_function *function = &items[i];
		const struct code_section *section = &image->sections.items[function->section];
		const struct code_function *next = i + 1 < image->functions.count ? &items[i + 1] : NULL;
		uint64_t end = section->address + section->size;
		uint64_t next_start = next && next->address < end ? next->address : end;
		if (function->size) {
			bool crosses = next && next->address < end && next->size &&
				       function->address + function->size > next->address &&
				       function->address + function->size < next->address + next->size;
			if (!crosses)
				continue;
		}
		function->size = next_start - function->address;
		image->damage.clamped++;
	}
}

/*
 * Returns whether a function is the kernel of its section: by the decoder, or, in an image that no decoder describes,
 * by the name of the section, .text.KERNEL, which is how compilers for GPUs name it.
 */
static bool is_kernel_of(const struct code_image *image, const struct code_section *section,
			 const struct code_function *function)
{
	if (image->description->functions.count || section->kernel_name)
		return function->is_kernel && section->kernel_name && strcmp(section->kernel_name, function->name) == 0;
	size_t length = sizeof SECTION_PREFIX - 1;
	return strncmp(section->name, SECTION_PREFIX, length) == 0 &&
	       strcmp(section->name + length, function->name) == 0;
}

int code_image_read_functions(struct code_image *image, const struct elf_file *file)
{
	int code = read_symbols(image, file);
	if (!code && image->description->functions.count) {
		code = add_described(image);
		merge_described(image);
	}
	if (code)
		return code;
	if (image->functions.count >= CODE_NONE)
		return -ENOEXEC;
	if (image->functions.count)
		qsort(image->functions.items, image->functions.count, sizeof *image->functions.items, compare);
	remove_duplicates(image);
	clamp(image);
	for (size_t i = 0; i < image->functions.count; i++) {
		struct code_function *function = &image->functions.items[i];
		struct code_section *section = &image->sections.items[function->section];
		if (!is_kernel_of(image, section, function))
			continue;
		section->kernel = (uint32_t)i;
		function->is_kernel = true;
	}
	return 0;
}
