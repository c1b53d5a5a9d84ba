/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what was taken out of an image for debugging, and makes sure that it belongs to it. */
#ifndef IAPROF_CORE_SYMBOLIZER_DEBUG_FILE_H
#define IAPROF_CORE_SYMBOLIZER_DEBUG_FILE_H

#include "symbolizer/elf_file.h"

/* How a file that belongs to an image is looked for. */
enum debug_file_kind {
	DEBUG_FILE_BUILD_ID, /* key: the build id */
	DEBUG_FILE_LINK,     /* key: the file name in .gnu_debuglink */
};
#define DEBUG_FILE_KEY_MAX 255

/* Opens files that belong to an image: whoever parses the image may not open files by itself. */
struct debug_file_finder {
	void *context;
	/*
	 * Opens what is at the place with this number, the first one is 0. Returns a descriptor, which the caller owns;
	 * -ENXIO when there are no more places; another negative errno when nothing usable is there.
	 */
	int (*open)(void *context, enum debug_file_kind kind, const void *key, size_t key_size, uint32_t place);
};

/*
 * Opens the separate debug file of an image: by its build id, else by .gnu_debuglink, whose checksum must be right.
 * Returns 0, or a negative errno: -ENOENT none, -ESTALE when the only one found is of another build.
 */
int debug_file_open(struct elf_file *debug, const struct elf_file *image, const struct debug_file_finder *finder);
/* Opens the file with this build id. Returns 0, -ENOENT or -ESTALE. */
int debug_file_open_by_build_id(struct elf_file *debug, const uint8_t *build_id, size_t size,
				const struct debug_file_finder *finder);
/* Opens the mini debug info: a small ELF file, compressed in the section .gnu_debugdata. The same results, or -ENOEXEC.
 */
int debug_file_open_mini(struct elf_file *debug, const struct elf_file *image);

#endif
