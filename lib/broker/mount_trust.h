/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the mount of an open file is one that only root can have made. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns whether the file is on a mount of iaprof's own mount namespace, on that of the folder root (-1: none), or on
 * one of the mount namespace of a process (0: none), none of which contains mounts of users. Also true if the Linux
 * kernel does not state the mount of a file: before Linux 5.8, in which users could not mount overlays.
 */
bool mount_is_trusted(int descriptor, int root, uint32_t pid);
/* Returns whether the mount namespace of a process belongs to another user namespace than iaprof's, or is unknown. */
bool mount_namespace_has_other_users(uint32_t pid);
