/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that one process at a time writes to, and no other user: rings and spools. */
#pragma once

#include <stdbool.h>

/* Creates the parents of a folder that do not exist. Returns 0 or a negative errno. */
int private_folder_make_parents(const char *path);

/*
 * Opens a folder. is_created: for writing; creates it, but not its parents, and refuses one of another user, or that
 * others can write to. Returns a descriptor, or a negative errno; with -EPERM the reason in *why, which may be NULL.
 */
int private_folder_open(const char *path, bool is_created, const char **why);

/*
 * Checks whether a folder can be opened for writing, or created, without creating it. makes_parents: its parents are
 * created, too. Returns 0, and the descriptor of the folder, or -1 if it does not exist; or a negative errno, as
 * private_folder_open().
 */
int private_folder_check(const char *path, bool makes_parents, int *folder, const char **why);

/* Locks a folder for writing until its descriptor is closed. Returns 0, or -EWOULDBLOCK if another process writes. */
int private_folder_lock(int folder);

/* Returns 0, or -EWOULDBLOCK if another process writes to a folder. Keeps no lock. */
int private_folder_check_lock(int folder);

/* Removes the regular files that is_partial() accepts: under the lock, they are those of a writer that was killed. */
void private_folder_clean(int folder, bool (*is_partial)(const void *context, const char *name), const void *context);

/*
 * For folders with several writers, each with its own files: locks a file in the folder, which it creates. Returns a
 * descriptor for file_lock_release(), or a negative errno as private_folder_lock().
 */
int file_lock_take(int folder, const char *name);
/* Returns 0, or a negative errno if the file cannot be locked, as file_lock_take(). Creates nothing and keeps no
 * lock. */
int file_lock_check(int folder, const char *name);
/* Removes the file. lock: -1 if none. */
void file_lock_release(int folder, const char *name, int lock);
