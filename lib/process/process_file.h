/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files in the mount namespace of another process: regular files only, without following symbolic links. Each
 * call can wait forever for a file system: iaprof itself calls broker_open_file() (broker/broker.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * Opens the regular file at an absolute path below a process's root for reading, and fills in *status by fstat().
 * Returns a descriptor, or a negative errno: -ELOOP for a symbolic link anywhere in the path, -ESRCH if the process is
 * gone, -EISDIR or -EINVAL if it is not a regular file.
 */
int process_file_open(uint32_t process, const char *path, struct stat *status);

/*
 * Opens the file of the mapping at start, of length bytes, whatever its path is now. Returns the same as
 * process_file_open().
 */
int process_file_open_mapped(uint32_t process, uint64_t start, uint64_t length, struct stat *status);

/* A file that was opened once, and its status at that time. */
struct process_file {
	int descriptor; /* -1: closed */
	struct stat status;
};

/* Returns whether a file is the known one; files seen through different overlays are equal if they share pages. */
bool process_file_is(const struct process_file *known, int descriptor, const struct stat *status);
