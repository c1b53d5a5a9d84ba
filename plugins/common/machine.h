/* SPDX-License-Identifier: Apache-2.0 */
/* Small questions to the Linux kernel that several plugins ask. Any thread. */
#ifndef IAPROF_PLUGINS_COMMON_MACHINE_H
#define IAPROF_PLUGINS_COMMON_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* A clock, in ns. */
uint64_t clock_read(clockid_t clock);

/* Whether a release, such as "6.15.0-rc3-arch1", is of this version or a later one; false when it is none. */
bool kernel_release_is_at_least(const char *release, unsigned long major, unsigned long minor);

/* The last part of what a link points to, as the driver of a device in sysfs; false and "" when there is none. */
bool link_name(const char *path, char *name, size_t size);

#endif
