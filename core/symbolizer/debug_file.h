/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what was taken out of an image for debugging, and makes sure that it belongs to it. */
#ifndef IAPROF_CORE_SYMBOLIZER_DEBUG_FILE_H
#define IAPROF_CORE_SYMBOLIZER_DEBUG_FILE_H

#include "symbolizer/elf_file.h"

/* Where to look for files that belong to an image. */
struct image_place {
	int root;               /* as for regular_file_open() */
	const char *path;       /* of the image, inside of root; NULL none */
	const char *debug_path; /* folder of debug files */
};

/*
 * Opens the separate debug file of an image: by its build id, else by .gnu_debuglink, whose checksum must be right.
 * Returns 0, or a negative errno: -ENOENT none, -ESTALE when the only one found is of another build.
 */
int debug_file_open(struct elf_file *debug, const struct elf_file *image, const struct image_place *place);
/* Opens the file with this build id. Returns 0, -ENOENT or -ESTALE. */
int debug_file_open_by_build_id(struct elf_file *debug, const uint8_t *build_id, size_t size,
				const struct image_place *place);
/* Opens the mini debug info: a small ELF file, compressed in the section .gnu_debugdata. The same results, or -ENOEXEC.
 */
int debug_file_open_mini(struct elf_file *debug, const struct elf_file *image);

#endif
