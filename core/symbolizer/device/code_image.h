/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the ELF image of a code object: its sections with code, its functions, and relocating its debug information.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_IMAGE_H
#define IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_IMAGE_H

#include "base/string_table.h"
#include "symbolizer/device/code_object.h"
#include "symbolizer/elf_file.h"

/* Initialise with {0} and the strings. */
struct code_image {
	struct string_table *strings;
	bool is_placed;
	ARRAY(struct code_section) sections;
	ARRAY(struct code_function) functions; /* by address; those that start earlier or are longer first */
	ARRAY(uint32_t) section_numbers;       /* by the number in the file: position in sections, or CODE_NONE */
	ARRAY(uint64_t) file_addresses;        /* of the sections, in the file's numbering */
	struct code_damage damage;
};

/* They return 0, -ENOEXEC (damaged: what was good is kept) or -ENOMEM. */
int code_image_read_sections(struct code_image *image, const struct elf_file *file);
int code_image_read_functions(struct code_image *image, const struct elf_file *file);
/*
 * Makes the relocations of the debug sections of a relocatable image in a copy of its bytes, so that they have the
 * addresses of image->sections.
 */
int code_image_relocate(struct code_image *image, const struct elf_file *file, char *copy);
void code_image_free(struct code_image *image);

#endif
