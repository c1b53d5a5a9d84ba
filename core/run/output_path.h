/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what an output's path names without following other users' names: each component is opened on its own, relative
 * to the one before, so that what was checked is what is used. A symbolic link of another user in a sticky folder that
 * everybody can write is refused, as fs.protected_symlinks does; a device, FIFO or socket is refused when another user
 * owns it, or a link of another user leads to it. Block devices are refused always.
 */
#ifndef IAPROF_CORE_RUN_OUTPUT_PATH_H
#define IAPROF_CORE_RUN_OUTPUT_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

/* Release with output_path_release(). */
struct output_path {
	/* Where a regular file of this path gets its name: links in the last component are not followed. */
	int folder;              /* O_PATH descriptor */
	char name[NAME_MAX + 2]; /* also one that is too long */
	/* The object that is written to directly; has_object is false for a regular file and where nothing is there. */
	bool has_object;
	int object_folder; /* O_PATH descriptor */
	char object_name[NAME_MAX + 2];
	bool object_is_link; /* of /proc, which only the Linux kernel can follow */
	int own_descriptor;  /* the path names this descriptor of ours; -1: none */
	struct stat status;  /* of the object, or of the regular file */
	bool exists;         /* status is set */
};

#define OUTPUT_PATH_INIT ((struct output_path){ .folder = -1, .object_folder = -1, .own_descriptor = -1 })

/* 0, or a negative errno with one line. */
int output_path_find(struct output_path *found, const char *path, struct error *error);
/* Opens the object for writing. Never waits for a reader. The descriptor, or a negative errno with one line. */
int output_path_open(const struct output_path *found, const char *path, struct error *error);
void output_path_release(struct output_path *found);

#endif
