/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a code object: see code_image.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>
#include "symbolizer/device/code_image.h"
#include "symbolizer/elf_symbols.h"

/* A section with this prefix is of the kernel whose name follows. */
#define SECTION_PREFIX ".text."

/* The name of the kernel that a section is of, "" when it is of none. */
static const char *kernel_name(const struct code_section *section)
{
	size_t length = strlen(SECTION_PREFIX);
	return strncmp(section->name, SECTION_PREFIX, length) == 0 ? section->name + length : "";
}

/* Adds a symbol's function; a size of 0 stays for now. False when out of memory. */
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
	function.is_kernel = function.name && offset == 0 && strcmp(function.name, kernel_name(section)) == 0;
	return function.name && array_push(&image->functions, function);
}

static int read_symbols(struct code_image *image, const struct elf_file *file)
{
	struct elf_symbol_reader reader;
	int code = elf_symbol_reader_open(&reader, file, SHT_SYMTAB);
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

/* Without any symbol for a section, its name says whose it is, and its end is all that is known of the kernel's. */
static int add_missing(struct code_image *image)
{
	size_t count = image->sections.count;
	bool *has_function = calloc(count, sizeof *has_function);
	if (!has_function)
		return -ENOMEM;
	for (size_t i = 0; i < image->functions.count; i++)
		has_function[image->functions.items[i].section] = true;
	bool done = true;
	for (size_t i = 0; i < count && done; i++) {
		const struct code_section *section = &image->sections.items[i];
		const char *name = kernel_name(section);
		if (has_function[i] || !*name)
			continue;
		struct code_function function = { .name = name,
						  .address = section->address,
						  .size = section->size,
						  .section = (uint32_t)i,
						  .is_kernel = true };
		done = array_push(&image->functions, function);
		image->damage.clamped++;
	}
	free(has_function);
	return done ? 0 : -ENOMEM;
}

/* At one address the kernel that the section is named after first, then the longest. */
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
 * Functions end where their symbols say, inside of another one or apart from it. One without a size ends at the next
 * one, and so does one that reaches into the next but not to its end.
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

int code_image_read_functions(struct code_image *image, const struct elf_file *file)
{
	int code = read_symbols(image, file);
	if (!code)
		code = add_missing(image);
	if (code)
		return code;
	if (image->functions.count >= CODE_NONE)
		return -ENOEXEC;
	if (image->functions.count)
		qsort(image->functions.items, image->functions.count, sizeof *image->functions.items, compare);
	remove_duplicates(image);
	clamp(image);
	for (size_t i = 0; i < image->functions.count; i++)
		if (image->functions.items[i].is_kernel)
			image->sections.items[image->functions.items[i].section].kernel = (uint32_t)i;
	return 0;
}
