/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of files that were mapped recently, so that functions of a program still have names when its file is
 * deleted right after it has ended. The oldest ones are closed. Any thread.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Limit on files; an eighth of RLIMIT_NOFILE if that is less. */
#define KEPT_FILES_MAX 512u

/* As the mapping identifies the file: on some file systems stat() returns other numbers. */
struct kept_file_key {
	const char *path;
	uint64_t inode; /* 0: the mapping has a build id instead */
};

struct kept_file {
	char *path;
	uint64_t inode;
	struct stat status; /* when it was mapped */
	int descriptor;
};

/* {0} keeps nothing. */
struct kept_files {
	pthread_mutex_t lock;
	struct kept_file *items;
	size_t count, limit, next; /* next: the oldest one, once count has reached the limit */
};

void kept_files_init(struct kept_files *files);
void kept_files_free(struct kept_files *files);

/* Keeps a duplicate of a descriptor that was opened through the mapping. */
void kept_files_add(struct kept_files *files, const struct kept_file_key *key, int descriptor);

/*
 * Returns a descriptor that the caller closes, and the status of the file, or -ENOENT if the file is not kept or was
 * written since. files may be NULL.
 */
int kept_files_open(struct kept_files *files, const struct kept_file_key *key, struct stat *status);
