/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that one process at a time writes to, and no other user: rings and spools. */
#pragma once

#include <stdbool.h>
#include <iaprof/host.h>

/* Creates the parents of a folder that do not exist. Returns 0 or a negative errno. */
int private_folder_make_parents(const char *path);

/*
 * Opens a folder. is_created: for writing; creates it, but not its parents, and refuses one of another user, or that
 * others can write to. Returns a descriptor, or a negative errno; with -EPERM the reason in *why, which may be NULL.
 */
int private_folder_open(const char *path, bool is_created, const char **why);

/* Locks a folder for writing. Returns 0, or -EWOULDBLOCK if another process writes. */
int private_folder_lock(int folder);
/* Unlocks it. Closing the descriptor does not while a process that was forked meanwhile has not closed its copy. */
void private_folder_unlock(int folder);

/* Removes the regular files that is_partial() accepts: under the lock, they are those of a writer that was killed. */
void private_folder_clean(int folder, bool (*is_partial)(const void *context, const char *name), const void *context);

/*
 * For folders with several writers, each with its own files: locks a file in the folder, which it creates. Returns a
 * descriptor for file_lock_release(), or a negative errno as private_folder_lock().
 */
int file_lock_take(int folder, const char *name);
/* Removes the file. lock: -1 if none. */
void file_lock_release(int folder, const char *name, int lock);

/*
 * For check() of a sink: reports whether a folder can be opened for writing and locked, without creating it or keeping
 * a lock. option: of the sink, and the name of the item. makes_parents: private_folder_make_parents() is called before.
 * lock: name of the file that is locked; NULL: the folder is.
 */
void private_folder_report(const struct iaprof_host *host, const char *option, const char *path, bool makes_parents,
			   const char *lock);
