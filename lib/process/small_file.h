/* SPDX-License-Identifier: Apache-2.0 */
/* Reads small files of /proc and /etc, whose size is known only when they were read. */
#pragma once

#include <stddef.h>

/* What is longer is cut off. */
#define SMALL_FILE_SIZE_MAX ((size_t)256 << 10)

/*
 * Reads a file and adds a NUL. Returns its size; 0 if it cannot be read. The caller frees *bytes, which is NULL if
 * there was no file or no memory.
 */
size_t small_file_read(const char *path, char **bytes);
