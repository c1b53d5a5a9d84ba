/* SPDX-License-Identifier: Apache-2.0 */
/* Queries of the Linux kernel that several plugins need. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"

/* Returns true if a release, such as "6.15.0-rc3-arch1", is this version or later; false if it cannot be parsed. */
bool kernel_release_is_at_least(const char *release, unsigned long major, unsigned long minor);

/*
 * Reads the first line of a small file, such as one in sysfs, without its line end. Returns 0, or a negative errno with
 * an empty text. A line that does not fit is truncated.
 */
int line_read(const char *path, char *text, size_t size);

/*
 * Reads the last component of a link's target, such as the driver of a device in sysfs. Returns false with an empty
 * text if there is none.
 */
bool link_name(const char *path, char *name, size_t size);

/* Returns a path that executes the running program again; NULL on failure. The caller frees it. */
char *program_path(void);
/* Returns the folder of the running program, without a trailing '/'; NULL on failure. The caller frees it. */
char *program_folder(void);
