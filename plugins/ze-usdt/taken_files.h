/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of our tracer that were read: marked as taken at once, for which the process waits when it ends, and removed a
 * little later, as another profiler on this machine may be about to read them too.
 */
#ifndef IAPROF_ZE_USDT_TAKEN_FILES_H
#define IAPROF_ZE_USDT_TAKEN_FILES_H

#include <stdint.h>
#include <sys/stat.h>
#include "probes.h"

#define TAKEN_FILES_MAX 64u

struct taken_file {
	int folder; /* O_PATH: it is there when the process is gone */
	char name[sizeof ZE_IMAGE_PREFIX + ZE_IMAGE_DIGITS + sizeof ZE_IMAGE_SUFFIX];
	dev_t device;
	ino_t inode;
	uint64_t time; /* CLOCK_MONOTONIC, ns */
};

/* Initialise with {0}. */
struct taken_files {
	struct taken_file items[TAKEN_FILES_MAX]; /* the oldest first */
	unsigned count;
};

/*
 * Takes a file that is open at descriptor, and that process announced at path, an absolute one; status says what it is.
 * Nothing happens when the name is not one that our tracer makes.
 */
void taken_files_add(struct taken_files *files, int descriptor, uint32_t process, const char *path,
		     const struct stat *status, uint64_t now);
/* Removes those that were taken a while ago. */
void taken_files_expire(struct taken_files *files, uint64_t now);
/* Removes all. */
void taken_files_free(struct taken_files *files);

#endif
