/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the file behind a mapping and makes sure that it still is the one that was mapped. */
#ifndef IAPROF_CORE_SYMBOLIZER_MAPPED_FILE_H
#define IAPROF_CORE_SYMBOLIZER_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include "process/process.h"
#include "symbolizer/elf_file.h"

/* What tells one content of one file from any other. All zero and then filled, so that it can be compared as bytes. */
struct file_identity {
	uint64_t device, inode, size;
	int64_t modified, born; /* CLOCK_REALTIME ns; born 0: the file system does not say */
};

struct mapped_file {
	struct elf_file elf;
	struct file_identity identity;
};

/*
 * Opens the file. latest: CLOCK_MONOTONIC ns at which the mapping was surely there (0: not known), so a file that is
 * newer is another one. live: the process may be asked for its files. Returns 0, or a negative errno: -ENOENT and
 * -ESTALE when the file is gone or another one is in its place, -ENODATA when nothing identifies it, -ENOEXEC when it
 * is not a sane ELF file.
 */
int mapped_file_open(struct mapped_file *file, const struct process *process, const struct mapping *mapping,
		     uint64_t latest, bool live);

#endif
