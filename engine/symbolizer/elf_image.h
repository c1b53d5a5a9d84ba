/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF image: a program, a library or the vDSO, with its symbols and debug information. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "symbolizer/debug_file.h"
#include "symbolizer/debug_info.h"
#include "symbolizer/elf_file.h"
#include "symbolizer/symbol_table.h"

/* Parts of an image that could not be used. */
enum elf_image_damage {
	IMAGE_SYMBOLS_DAMAGED = 1 << 0,
	IMAGE_DEBUG_FILE_UNUSABLE = 1 << 1,       /* it exists, but is damaged or belongs to another build */
	IMAGE_DEBUG_INFO_UNUSABLE = 1 << 2,       /* damaged or too large */
	IMAGE_SECTION_NAMES_DAMAGED = 1 << 3,     /* so that its debug information cannot be found */
	IMAGE_SHARED_DEBUG_INFO_MISSING = 1 << 4, /* the file of dwz that .gnu_debugaltlink names */
};

struct elf_image {
	elf_segment_array segments;
	struct symbol_table symbols;
	struct debug_info *debug_info; /* NULL: none, or not requested */
	uint32_t damage;               /* enum elf_image_damage */
	uint32_t build_id_size;        /* 0 if none, or longer than fits */
	uint8_t build_id[IAPROF_MODULE_BUILD_ID_SIZE_MAX];
};

/*
 * Reads an open file, of which it takes ownership; lines: also its debug information. Returns NULL if out of memory.
 * The finder is used only during the call.
 */
struct elf_image *elf_image_new(struct elf_file *elf, const struct debug_file_finder *finder, bool lines);
void elf_image_free(struct elf_image *image);
