/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens and reads files whose paths and contents are untrusted, and writes files: opens only regular files, without
 * waiting for a FIFO, opening a device, or leaving the folder tree.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The functions that open a file return a descriptor or a negative errno. */

/*
 * openat2(2) with O_CLOEXEC; glibc before 2.43 does not provide it. root: descriptor of a folder, or AT_FDCWD. resolve:
 * RESOLVE_* of linux/openat2.h.
 */
int path_open(int root, const char *path, int flags, uint64_t resolve);

/*
 * Opens path for reading, relative to the root folder that the descriptor root refers to (-1: iaprof's own root).
 * flags: 0, or O_NOFOLLOW to refuse a symbolic link at the end. Returns -EINVAL if it is not a regular file.
 */
int regular_file_open(int root, const char *path, int flags);
/* Opens the file of an O_PATH descriptor for reading, and fills in *status. Returns -EINVAL if it is not regular. */
int regular_file_reopen(int found, struct stat *status);
/* The same for a file that is known to be regular. */
int descriptor_reopen(int found);

/* Returns an O_PATH descriptor of the root folder of a running process. */
int process_root_open(uint32_t pid);

/* Writes all bytes. Returns 0 or a negative errno. */
int file_write(int descriptor, const void *bytes, size_t size);

/* Reads size bytes at offset, or fewer at the end of the file. Returns their number or a negative errno. */
ssize_t file_read_at(int descriptor, void *bytes, size_t size, uint64_t offset);

/*
 * Returns the contents of a file of unknown size, such as those in /proc, followed by a NUL, which the caller frees;
 * NULL with errno set (EFBIG: more than size_max bytes).
 */
char *file_read_all(int descriptor, size_t size_max, size_t *size);
