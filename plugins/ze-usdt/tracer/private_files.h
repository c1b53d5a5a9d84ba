/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files through which images go to who profiles the process. Their reader marks and removes them; this removes
 * what stayed.
 * Not for use by several threads at once.
 */
#ifndef ZE_TRACER_PRIVATE_FILES_H
#define ZE_TRACER_PRIVATE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRIVATE_PATH_MAX 256
#define PRIVATE_FILES_MAX 64

/* Zeroed, it is empty. */
struct private_files {
	unsigned count;
	struct private_file {
		char path[PRIVATE_PATH_MAX];
		int64_t written; /* CLOCK_MONOTONIC, nanoseconds */
		int process;     /* who wrote it: a forked child leaves its parent's alone */
	} files[PRIVATE_FILES_MAX];
};

/*
 * Writes a new file as ../probes.h describes it and returns its path, which holds until the next call; NULL when it
 * could not be written. When too many files are there, the oldest is removed.
 */
const char *private_files_write(struct private_files *files, const void *bytes, size_t size);

/* Removes those that nobody took for some seconds. */
void private_files_sweep(struct private_files *files);

/* Removes them all; waits for a moment when wait says that their reader is there. */
void private_files_end(struct private_files *files, bool wait);

#endif
