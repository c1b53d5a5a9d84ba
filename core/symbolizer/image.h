/* SPDX-License-Identifier: Apache-2.0 */
/* One ELF image: a program, a library or the vDSO, and what is known about its code. */
#ifndef IAPROF_CORE_SYMBOLIZER_IMAGE_H
#define IAPROF_CORE_SYMBOLIZER_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolizer/debug_file.h"
#include "symbolizer/debug_info.h"
#include "symbolizer/elf_file.h"
#include "symbolizer/symbol_table.h"

struct image {
	elf_segment_array segments;
	struct symbol_table symbols;
	struct debug_info *debug_info; /* NULL: none, or not asked for */
	uint32_t damaged;              /* tables and debug files that could not be used */
};

/*
 * Reads what is needed of an open file, which it takes over; lines: also of its debug information. Returns NULL when
 * out of memory.
 */
struct image *image_new(struct elf_file *elf, const struct image_place *place, bool lines);
void image_free(struct image *image);

/* The ELF virtual address of a place in the file that is mapped executable; false when nothing is loaded from there. */
bool image_address(const struct image *image, uint64_t file_offset, uint64_t *address);

#endif
