/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves an output's path without following names controlled by other users: each component is opened individually,
 * relative to the previous one, to prevent races between check and use. Another user's symbolic link in a sticky
 * world-writable folder is rejected, as with fs.protected_symlinks; a device, FIFO or socket is rejected if another
 * user owns it or another user's link leads to it. Block devices are always rejected.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

/* Release with output_path_release(). */
struct output_path {
	/* Folder and name of a regular file: links in the last component are not followed. */
	int folder;              /* O_PATH descriptor */
	char name[NAME_MAX + 2]; /* one byte longer than NAME_MAX, to detect names that are too long */
	/* Object that is written in place; has_object is false for a regular file and if nothing exists. */
	bool has_object;
	int object_folder; /* O_PATH descriptor */
	char object_name[NAME_MAX + 2];
	bool object_is_link; /* a link in /proc, which only the Linux kernel can follow */
	int own_descriptor;  /* the path refers to this descriptor of iaprof; -1: none */
	struct stat status;  /* status of the object, or of the regular file */
	bool exists;         /* status is set */
};

static inline bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

#define OUTPUT_PATH_INIT ((struct output_path){ .folder = -1, .object_folder = -1, .own_descriptor = -1 })

/* Returns 0, or a negative errno and sets error. */
int output_path_find(struct output_path *found, const char *path, struct error *error);
/*
 * Opens the object for writing without waiting for a reader. Returns the descriptor, or a negative errno and sets
 * error.
 */
int output_path_open(const struct output_path *found, const char *path, struct error *error);
void output_path_release(struct output_path *found);
