/* SPDX-License-Identifier: Apache-2.0 */
/* Opening files whose paths somebody else chose, without reading for them what they could not read themselves. */
#ifndef IAPROF_PLUGINS_COMMON_PUBLIC_FILE_H
#define IAPROF_PLUGINS_COMMON_PUBLIC_FILE_H

/*
 * Opens a file that every user of the machine may read, for reading: a regular file with o+r in folders with o+x, on a
 * local file system, by an absolute path without symbolic links and "..". Each part of the path is checked on the
 * descriptor that the next one is looked up with, and on its mount before anything asks its file system: one that does
 * not answer (FUSE, NFS) is never waited for. Returns a descriptor, or a negative errno with the reason in *why.
 */
int public_file_open(const char *path, const char **why);

#endif
