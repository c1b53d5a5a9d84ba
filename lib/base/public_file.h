/* SPDX-License-Identifier: Apache-2.0 */
/* Opens world-readable files whose paths are untrusted. */
#pragma once

/*
 * Opens a file that every user of the machine may read: a regular file with o+r in folders with o+x, on a local file
 * system, by an absolute path without symbolic links and "..". Each component is checked on the descriptor with which
 * the next one is resolved, and its mount is checked before its file system is called, so that a blocked file system
 * (FUSE, NFS) is never waited for. Returns a descriptor, or a negative errno with the reason in *why.
 */
int public_file_open(const char *path, const char **why);
