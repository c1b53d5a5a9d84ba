/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files as another process sees them, without being led astray: no symbolic link, no device, no FIFO. */
#ifndef IAPROF_ZE_USDT_PROCESS_FILE_H
#define IAPROF_ZE_USDT_PROCESS_FILE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * Opens the regular file at an absolute path below a process's root for reading; *status says what it is. Returns a
 * descriptor, or a negative errno: -ELOOP for a symbolic link anywhere in the path, -ESRCH when the process is gone,
 * -EISDIR or -EINVAL when it is no regular file.
 */
int process_file_open(uint32_t process, const char *path, struct stat *status);

/* The file of the mapping at start, of length bytes, whatever its path is now. Returns as process_file_open(). */
int process_file_open_mapped(uint32_t process, uint64_t start, uint64_t length, struct stat *status);

/* An O_PATH descriptor of the folder that the file at an absolute path is in, or a negative errno. */
int process_folder_open(uint32_t process, const char *path);

/* A file that was opened once, and what it was. */
struct process_file {
	int descriptor; /* -1: not open any more */
	struct stat status;
};

/* Whether a file is that one, which may be seen through another overlay: then they share their pages in memory. */
bool process_file_is(const struct process_file *known, int descriptor, const struct stat *status);

#endif
