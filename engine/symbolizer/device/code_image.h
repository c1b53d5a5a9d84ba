/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the ELF image of a code object: its code sections and functions; relocates its debug information. */
#pragma once

#include "base/string_table.h"
#include "symbolizer/device/code_description.h"
#include "symbolizer/device/code_object.h"
#include "symbolizer/display_names.h"
#include "symbolizer/elf_file.h"

/* Initialise with {0}, the string table, and the decoder's description. */
struct code_image {
	struct string_table *strings;
	const struct code_description *description;
	uint32_t addresses; /* enum iaprof_image_addresses, except UNSTATED */
	uint64_t base;      /* base of RELATIVE addresses */
	ARRAY(struct code_section) sections;
	ARRAY(struct code_function) functions; /* sorted by address */
	ARRAY(uint32_t) section_numbers;       /* by section number in the file: position in sections, or CODE_NONE */
	ARRAY(uint64_t) file_addresses;        /* addresses of the sections, as stated in the file */
	ARRAY(uint32_t) callers;               /* of functions: positions of kernels */
	struct code_damage damage;
};

/* The functions return 0, -ENOEXEC (damaged: the valid part is kept) or -ENOMEM. */
int code_image_read_sections(struct code_image *image, const struct elf_file *file);
int code_image_read_functions(struct code_image *image, const struct elf_file *file);
/*
 * Relocates the debug sections of an image without addresses, in a copy of its bytes, to the addresses of
 * image->sections.
 */
int code_image_relocate(struct code_image *image, const struct elf_file *file, char *copy,
			const struct iaprof_relocation *types, size_t type_count);
/* Finds the callers of functions. table: an index of the functions. */
int code_image_find_callers(struct code_image *image, const struct code_table *table, const struct elf_file *file);
/* Places units of debug information that were not relocated. */
int code_image_place_units(struct code_image *image, struct debug_info *info, struct display_names *names);
void code_image_free(struct code_image *image);
