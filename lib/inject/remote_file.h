/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of the library in a file in memory of the other process, for processes that do not see the library's file. */
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

/* Arguments of memfd_create() in the other process. */
#define REMOTE_FILE_FLAGS (MFD_CLOEXEC | MFD_ALLOW_SEALING)
#define REMOTE_FILE_EXECUTABLE 0x10u /* MFD_EXEC, since Linux 6.3 */

/*
 * Copies a file into the empty file in memory that a thread of another process has just created, under this descriptor,
 * and seals it. Returns 0 or a negative errno: -EPERM if the process has put another file in its place.
 */
int remote_file_fill(pid_t thread, int remote, int source);
