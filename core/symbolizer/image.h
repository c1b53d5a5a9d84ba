/* SPDX-License-Identifier: Apache-2.0 */
/* One ELF image: a program, a library or the vDSO, and what is known about its code. */
#ifndef IAPROF_CORE_SYMBOLIZER_IMAGE_H
#define IAPROF_CORE_SYMBOLIZER_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolizer/elf_file.h"
#include "symbolizer/symbol_table.h"

struct image {
	elf_segment_array segments;
	struct symbol_table symbols;
	uint32_t damaged; /* tables and debug files that could not be used */
};

/* Where to look for files that belong to an image. */
struct image_place {
	int root;               /* as for regular_file_open() */
	const char *path;       /* of the image, inside of root; NULL none */
	const char *debug_path; /* folder of debug files */
};

/* Reads what is needed of an open file, which it takes over. Returns NULL when out of memory. */
struct image *image_new(struct elf_file *elf, const struct image_place *place);
void image_free(struct image *image);

/* The ELF virtual address of a place in the file that is mapped executable; false when nothing is loaded from there. */
bool image_address(const struct image *image, uint64_t file_offset, uint64_t *address);

#endif
