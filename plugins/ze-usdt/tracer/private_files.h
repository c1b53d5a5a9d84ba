/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that pass images to profilers. Readers mark and delete them; this deletes the remaining ones. Not thread-safe.
 */
#ifndef ZE_TRACER_PRIVATE_FILES_H
#define ZE_TRACER_PRIVATE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRIVATE_PATH_MAX 256
#define PRIVATE_FILES_MAX 64

/* All zeros is empty. */
struct private_files {
	unsigned count;
	struct private_file {
		char path[PRIVATE_PATH_MAX];
		int64_t written; /* CLOCK_MONOTONIC, nanoseconds */
		int process;     /* the writer: a forked child does not delete its parent's files */
	} files[PRIVATE_FILES_MAX];
};

/*
 * Writes a new file as described in ../probes.h and returns its path, valid until the next call, or NULL on failure. If
 * there are too many files, the oldest is deleted.
 */
const char *private_files_write(struct private_files *files, const void *bytes, size_t size);

/* Deletes files that were not read for some seconds. */
void private_files_sweep(struct private_files *files);

/* Deletes all files; with wait, a reader is present and gets a moment to open them. */
void private_files_end(struct private_files *files, bool wait);

/* Returns whether the process may have a file of that size: a larger one would raise SIGXFSZ. */
bool file_is_allowed(size_t size);

#endif
