/* SPDX-License-Identifier: Apache-2.0 */
/* One ELF image: a program, a library or the vDSO, and what is known about its code. */
#ifndef IAPROF_CORE_SYMBOLIZER_IMAGE_H
#define IAPROF_CORE_SYMBOLIZER_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "symbolizer/debug_file.h"
#include "symbolizer/debug_info.h"
#include "symbolizer/elf_file.h"
#include "symbolizer/symbol_table.h"

/* What of an image could not be used. */
enum image_damage {
	IMAGE_SYMBOLS_DAMAGED = 1 << 0,
	IMAGE_DEBUG_FILE_UNUSABLE = 1 << 1,   /* there is one, and it is damaged or of another build */
	IMAGE_DEBUG_INFO_UNUSABLE = 1 << 2,   /* damaged, too large, or a part that it shares with others is missing */
	IMAGE_SECTION_NAMES_DAMAGED = 1 << 3, /* so that nothing is known of its debug information */
};

struct image {
	elf_segment_array segments;
	struct symbol_table symbols;
	struct debug_info *debug_info; /* NULL: none, or not asked for */
	uint32_t damage;               /* enum image_damage */
	uint32_t build_id_size;        /* 0 none, or longer than fits */
	uint8_t build_id[IAPROF_MODULE_BUILD_ID_SIZE_MAX];
};

/*
 * Reads what is needed of an open file, which it takes over; lines: also of its debug information. Returns NULL when
 * out of memory. The finder is used during the call only.
 */
struct image *image_new(struct elf_file *elf, const struct debug_file_finder *finder, bool lines);
void image_free(struct image *image);

#endif
