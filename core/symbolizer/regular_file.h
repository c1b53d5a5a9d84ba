/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening files whose paths and contents other users chose: only regular files, without waiting on a FIFO, touching a
 * device, or leaving the folder tree that the path is meant for.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_REGULAR_FILE_H
#define IAPROF_CORE_SYMBOLIZER_REGULAR_FILE_H

#include <stdint.h>

/*
 * Opens path for reading, as seen from the root folder that the descriptor root stands for (-1: iaprof's own root).
 * flags: 0, or O_NOFOLLOW to refuse a symbolic link at the end. Returns a descriptor or a negative errno; -EINVAL when
 * it is not a regular file.
 */
int regular_file_open(int root, const char *path, int flags);
/* Opens what a file of /proc/PID stands for ("map_files/START-END"); the same results. */
int regular_file_open_proc(uint32_t pid, const char *name);
/* An O_PATH descriptor of the root folder of a running process, or a negative errno. */
int process_root_open(uint32_t pid);

#endif
