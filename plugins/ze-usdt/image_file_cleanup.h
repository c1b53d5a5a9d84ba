/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletes files written by our tracer after they were read: they are marked immediately, because the process waits for
 * this at exit, and deleted a little later, because another profiler may be about to read them.
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>
#include "broker/broker.h"
#include "probes.h"

#define IMAGE_FILES_MAX 64u

struct image_file {
	int folder; /* O_PATH: still valid when the process is gone */
	char name[sizeof ZE_IMAGE_PREFIX + ZE_IMAGE_DIGITS + sizeof ZE_IMAGE_SUFFIX];
	dev_t device;
	ino_t inode;
	uint64_t time; /* CLOCK_MONOTONIC, ns */
};

/* Initialise with {0}. */
struct image_file_cleanup {
	struct image_file items[IMAGE_FILES_MAX]; /* the oldest first */
	unsigned count;
};

/*
 * Returns a descriptor of the folder of a file that a process announced at path, an absolute path: to be opened before
 * the file, because the process may end meanwhile. Returns -1 if the name is not one of our tracer's, or if the folder
 * cannot be opened.
 */
int image_file_folder_open(struct broker *broker, uint32_t process, const char *path);
/* Adds a file that is open at descriptor. Takes ownership of folder; does nothing if it is -1. status: from fstat(). */
void image_file_cleanup_add(struct image_file_cleanup *files, int descriptor, int folder, const char *path,
			    const struct stat *status, uint64_t now);
/* Deletes files that were read a while ago. */
void image_file_cleanup_expire(struct image_file_cleanup *files, uint64_t now);
/* Deletes all remaining files. */
void image_file_cleanup_free(struct image_file_cleanup *files);
