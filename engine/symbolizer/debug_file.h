/* SPDX-License-Identifier: Apache-2.0 */
/* Finds separate debug files of an image and verifies that they belong to it. */
#pragma once

#include "symbolizer/elf_file.h"

/* How a debug file is located. */
enum debug_file_kind {
	DEBUG_FILE_BUILD_ID, /* key: the build id */
	DEBUG_FILE_LINK,     /* key: the file name in .gnu_debuglink */
	DEBUG_FILE_SHARED,   /* key: the path in .gnu_debugaltlink, absolute, or from the folder of the file with it */
};
#define DEBUG_FILE_KEY_MAX 255

/* Opens debug files of an image, because the process that parses the image may not open files. */
struct debug_file_finder {
	void *context;
	/*
	 * Opens the candidate file with this number, counted from 0. Returns a descriptor, owned by the caller; -ENXIO
	 * if there are no more candidates; another negative errno if this one is not usable.
	 */
	int (*open)(void *context, enum debug_file_kind kind, const void *key, size_t key_size, uint32_t place);
};

/*
 * Opens the separate debug file of an image: by its build id, otherwise by .gnu_debuglink, whose checksum must match.
 * Returns 0, or a negative errno: -ENOENT none, -ESTALE if the only one found belongs to another build.
 */
int debug_file_open(struct elf_file *debug, const struct elf_file *image, const struct debug_file_finder *finder);
/*
 * Opens the file with this build id that several debug files share: by the build id, otherwise by the path in them,
 * whose file must have it. Returns 0, -ENOENT, -ESTALE, or -ENOEXEC (no ELF file).
 */
int debug_file_open_shared(struct elf_file *debug, const char *path, const uint8_t *build_id, size_t size,
			   const struct debug_file_finder *finder);
/*
 * Opens the mini debug info: a small ELF file, compressed in the section .gnu_debugdata. Returns the same values, or
 * -ENOEXEC.
 */
int debug_file_open_mini(struct elf_file *debug, const struct elf_file *image);
